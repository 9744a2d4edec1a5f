/** Translation of updates to messages for the gateway. Pure. */
import type { InboundChat, InboundForward, InboundMessage, InboundReply, InboundSender } from "@svc/sdk/channels";
import type {
  CallbackQuery,
  Chat,
  Message,
  MessageOrigin,
  MessageReactionUpdated,
  PollAnswer,
  Update,
  User,
} from "grammy/types";
import { mediaOf, wordsOf } from "./content.ts";
import { given } from "./given.ts";
import { addressed, type Bot } from "./mentions.ts";
import type { Memory } from "./memory.ts";

/** A message without the id of its update. */
type Translated = Omit<InboundMessage, "id">;

/**
 * Converts an update, or the updates of one album, to messages; empty: the updates are ignored.
 * @param album more than one: `message` updates of the same album, oldest first
 */
export function toInbound(album: readonly Update[], bot: Bot, memory: Memory): readonly InboundMessage[] {
  const [update, ...rest] = album;
  if (!update) return [];
  // The last update is the last one to be confirmed, so an album keeps its id if only its end is delivered again.
  const id = `update:${(rest.at(-1) ?? update).update_id}`;
  const messages = rest.length > 0 ? albumOf(album, bot) : translated(update, bot, memory);
  return messages.map((message, at) => ({ id: at === 0 ? id : `${id}:${at}`, ...message }));
}

function translated(update: Update, bot: Bot, memory: Memory): readonly Translated[] {
  const { message, edited_message: edited, callback_query: press, message_reaction: reaction } = update;
  if (message) return listed(messageOf(message, bot));
  if (edited) return listed(editOf(edited, bot));
  if (press) return listed(pressOf(press));
  if (reaction) return reactionsOf(reaction, memory);
  if (update.poll_answer) return listed(answerOf(update.poll_answer, memory));
  return [];
}

const listed = <T>(value: T | undefined): readonly T[] => (value === undefined ? [] : [value]);

/** The parts of an album as one message, with the facts of the first part and the text of the part that has one. */
function albumOf(album: readonly Update[], bot: Bot): readonly Translated[] {
  const parts = album.flatMap(({ message }) => (message ? listed(messageOf(message, bot)) : []));
  const [first] = parts;
  if (!first) return [];
  const { text, forwarded } = parts.find((part) => (part.forwarded?.text ?? part.text) !== "") ?? first;
  const mentioned = parts.some((part) => part.mentioned === true);
  const media = parts.flatMap((part) => part.media ?? []);
  return [{ ...first, text, ...given("forwarded", forwarded), mentioned, media }];
}

function messageOf(message: Message, bot: Bot): Translated | undefined {
  const sender = senderOf(message);
  if (!sender || message.chat.type === "channel") return undefined;
  const { forward_origin: origin, text: raw = message.caption ?? "" } = message;
  const { text, isMentioned } = origin
    ? { text: raw, isMentioned: false }
    : addressed(raw, message.entities ?? message.caption_entities ?? [], bot);
  const words = [text, wordsOf(message)].filter((part) => part !== "").join("\n");
  const media = mediaOf(message);
  const location = locationOf(message);
  if (words === "" && media.length === 0 && !location && !isMentioned) return undefined; // e.g. somebody joined
  return {
    messageId: String(message.message_id),
    chat: chatOf(message.chat, message.is_topic_message === true ? message.message_thread_id : undefined),
    sender,
    text: origin ? "" : words,
    ...(origin ? { forwarded: { text: words, ...given("from", authorOf(origin)) } } : {}),
    mentioned: isMentioned,
    ...(media.length > 0 ? { media } : {}),
    ...given("replyTo", replyOf(message, bot)),
    ...given("location", location),
    at: message.date * 1_000,
  };
}

function editOf(message: Message & { readonly edit_date: number }, bot: Bot): Translated | undefined {
  const edited = messageOf(message, bot);
  if (!edited || edited.location) return undefined; // a live location moves without anybody writing
  const messageId = String(message.message_id);
  return { ...edited, event: { kind: "edit", messageId }, at: message.edit_date * 1_000 };
}

function pressOf({ from, message, data }: CallbackQuery): Translated | undefined {
  if (!message || data === undefined || from.is_bot) return undefined;
  const messageId = String(message.message_id);
  const isReadable = message.date !== 0;
  const rows = isReadable ? (message.reply_markup?.inline_keyboard ?? []) : [];
  const label = rows.flat().find((button) => "callback_data" in button && button.callback_data === data)?.text;
  const threadId = isReadable && message.is_topic_message === true ? message.message_thread_id : undefined;
  return {
    chat: chatOf(message.chat, threadId),
    sender: personOf(from),
    text: label ?? data,
    event: { kind: "button", messageId, value: data },
  };
}

function reactionsOf(reaction: MessageReactionUpdated, memory: Memory): readonly Translated[] {
  const { chat, message_id: id, user, actor_chat: actor, date, old_reaction: old, new_reaction: now } = reaction;
  const sender = actor ? chatSender(actor) : user && !user.is_bot ? personOf(user) : undefined;
  if (!sender || chat.type === "channel") return [];
  const emojis = (list: typeof old) => list.flatMap((one) => (one.type === "emoji" ? [one.emoji] : []));
  const [before, after] = [emojis(old), emojis(now)];
  const messageId = String(id);
  const isOwn = memory.isOwn(String(chat.id), messageId);
  const event = (emoji: string, isRemoved: boolean): Translated => ({
    chat: chatOf(chat),
    sender,
    text: "",
    event: { kind: "reaction", messageId, emoji, isRemoved, isOwn },
    at: date * 1_000,
  });
  return [
    ...before.filter((emoji) => !after.includes(emoji)).map((emoji) => event(emoji, true)),
    ...after.filter((emoji) => !before.includes(emoji)).map((emoji) => event(emoji, false)),
  ];
}

function answerOf(answer: PollAnswer, memory: Memory): Translated | undefined {
  const { poll_id: pollId, user, voter_chat: voter, option_ids: indices } = answer;
  const sender = voter ? chatSender(voter) : user && !user.is_bot ? personOf(user) : undefined;
  if (!sender) return undefined;
  const poll = memory.pollOf(pollId);
  const options = indices.map((index) => poll?.options[index] ?? String(index));
  const chat = poll?.chat ?? { type: "direct", id: sender.id, ...given("name", sender.name) };
  return { chat, sender, text: options.join("\n"), event: { kind: "poll-answer", pollId, options } };
}

function authorOf(origin: MessageOrigin): InboundForward["from"] {
  switch (origin.type) {
    case "user":
      return nameOf(origin.sender_user);
    case "hidden_user":
      return origin.sender_user_name;
    case "chat":
      return titleOf(origin.sender_chat);
    default:
      return titleOf(origin.chat);
  }
}

/** @returns `undefined`: a bot. Anonymous administrators and channels write as a chat. */
function senderOf({ from, sender_chat: chat }: Message): InboundSender | undefined {
  if (chat) return chatSender(chat);
  return from && !from.is_bot ? personOf(from) : undefined;
}

const chatSender = (chat: Chat): InboundSender => ({ id: String(chat.id), ...given("name", titleOf(chat)) });

const personOf = (user: User): InboundSender => ({ id: String(user.id), ...given("name", nameOf(user)) });

function nameOf({ first_name: first, last_name: last, username }: Partial<User>): string | undefined {
  const name = [first, last].filter((part) => part !== undefined && part !== "").join(" ");
  return name === "" ? username : name;
}

const titleOf = (chat: Chat): string | undefined => (chat.type === "private" ? nameOf(chat) : chat.title);

export function chatOf(chat: Chat, threadId?: number): InboundChat {
  return {
    type: chat.type === "private" ? "direct" : "group",
    id: String(chat.id),
    ...given("name", titleOf(chat)),
    ...given("threadId", threadId === undefined ? undefined : String(threadId)),
  };
}

function replyOf(message: Message, bot: Bot): InboundReply | undefined {
  const { reply_to_message: to, quote } = message;
  if (!to || to.forum_topic_created) return undefined; // each message of a topic answers its first one
  const senderName = to.sender_chat ? titleOf(to.sender_chat) : to.from && nameOf(to.from);
  const text = quote?.text ?? to.text ?? to.caption;
  const isOwn = to.from?.id === bot.id;
  return { messageId: String(to.message_id), ...given("text", text), ...given("senderName", senderName), isOwn };
}

function locationOf({ location, venue }: Message): Translated["location"] {
  const place = venue?.location ?? location;
  if (!place) return undefined;
  const { latitude, longitude } = place;
  return { latitude, longitude, ...given("name", venue?.title), ...given("address", venue?.address) };
}
