/** Translation of what adapters hand over into messages of the gateway, and of addresses. Pure. */
import { createHash } from "node:crypto";
import type {
  ActionEvent,
  Adapter,
  Attachment,
  Author,
  Message,
  MessageDeletedEvent,
  ReactionEvent,
  SlashCommandEvent,
} from "chat";
import { emojiOf } from "@svc/kit/channels";
import type { InboundChat, InboundMedia, InboundMessage, InboundReply } from "@svc/sdk/channels";

type Facts = Pick<Adapter, "userName" | "botUserId" | "isDM" | "channelIdFromThreadId">;
/** @param key unique for the file */
export type RefOf = (attachment: Attachment, key: string) => string;

/** A button that was sent. */
export interface StoredButton {
  readonly label: string;
  readonly value: string;
}

const digestOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 32);

/** Adapters throw for ids that they cannot read. */
function attempt<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

export const isDirect = (adapter: Pick<Facts, "isDM">, threadId: string) =>
  attempt(() => adapter.isDM?.(threadId) === true, false);

export const channelOf = (adapter: Pick<Facts, "channelIdFromThreadId">, threadId: string) =>
  attempt(() => adapter.channelIdFromThreadId(threadId), threadId);

/** Whether the gateway ignores what they write, as in all channels: bots would answer each other without end. */
const isBot = ({ isMe, isBot: bot, isSystem }: Author) => isMe || bot === true || isSystem === true;

/** A direct chat has the address of the person, a thread of a group is a chat of its own in its channel. */
function placeOf(adapter: Facts, threadId: string, { userId, fullName, userName }: Author) {
  const name = fullName || userName;
  const sender = name ? { id: userId, name } : { id: userId };
  const channel = channelOf(adapter, threadId);
  const chat: InboundChat = isDirect(adapter, threadId)
    ? { type: "direct", id: `user:${userId}`, ...(name ? { name } : {}) }
    : { type: "group", id: threadId, ...(channel === threadId ? {} : { parentId: channel }) };
  return { chat, sender };
}

const escaped = (text: string) => text.replace(/[.\\^$*+?()[\]{}|/]/g, String.raw`\$&`);

/** Whether a text addresses the bot, and the text without its name at the start. */
function addressed({ userName, botUserId }: Facts, text: string, isMention: boolean | undefined) {
  const names = [userName, botUserId ?? ""].filter((name) => name !== "").map(escaped);
  if (names.length === 0) return { text, mentioned: isMention === true };
  const name = String.raw`<?@(?:${names.join("|")})(?![\w-])>?`;
  const mentioned = isMention ?? new RegExp(String.raw`(?<![\w@])${name}`, "iu").test(text);
  return { text: text.replace(new RegExp(String.raw`^\s*${name}[:,]?\s*`, "iu"), ""), mentioned };
}

function replyOf({ id, text, author }: Message): InboundReply {
  const senderName = author.fullName || author.userName;
  return { messageId: id, isOwn: author.isMe, ...(text ? { text } : {}), ...(senderName ? { senderName } : {}) };
}

function mediaOf(attachment: Attachment, key: string, refOf: RefOf): InboundMedia {
  const { type: kind, name, mimeType, size } = attachment;
  return {
    ref: refOf(attachment, key),
    kind,
    ...(name ? { name } : {}),
    ...(mimeType ? { mimeType } : {}),
    ...(typeof size === "number" && size >= 0 ? { size } : {}),
  };
}

/** @returns `undefined`: nothing for the agent */
export function toInbound(
  adapter: Facts,
  threadId: string,
  message: Message,
  { refOf, isEdit = false }: { readonly refOf: RefOf; readonly isEdit?: boolean },
): InboundMessage | undefined {
  const { id: messageId, author, attachments, metadata, replyTo } = message;
  if (isBot(author)) return undefined;
  const place = placeOf(adapter, threadId, author);
  const id = `${threadId} ${messageId}`;
  const { text, mentioned } = addressed(adapter, message.text, message.isMention);
  const at = metadata.dateSent.getTime();
  return {
    id: isEdit ? `${id} edit ${digestOf(`${metadata.editedAt?.getTime() ?? ""} ${text}`)}` : id,
    messageId,
    ...place,
    text,
    mentioned: mentioned || place.chat.type === "direct",
    media: attachments.map((attachment, index) => mediaOf(attachment, `${id} ${index}`, refOf)),
    ...(replyTo ? { replyTo: replyOf(replyTo) } : {}),
    ...(isEdit ? { event: { kind: "edit", messageId } as const } : {}),
    ...(at > 0 ? { at } : {}),
  };
}

/** The same for each delivery of an event, because the network repeats all of it. */
function idOf(kind: string, raw: unknown, more = ""): { readonly id?: string } {
  const text = attempt(() => JSON.stringify(raw), undefined);
  return text === undefined ? {} : { id: `${kind} ${digestOf(`${text} ${more}`)}` };
}

type Deletion = Pick<MessageDeletedEvent, "threadId" | "messageId" | "previousMessage">;

/** Networks do not tell who deleted a message: it is attributed to its author, or skipped. */
export function toDeletion(adapter: Facts, deletion: Deletion): InboundMessage | undefined {
  const { threadId, messageId, previousMessage } = deletion;
  if (!previousMessage || isBot(previousMessage.author)) return undefined;
  const place = placeOf(adapter, threadId, previousMessage.author);
  const event = { kind: "deletion", messageId } as const;
  return { id: `${threadId} ${messageId} deletion`, messageId, ...place, text: "", event };
}

type Reaction = Omit<ReactionEvent, "adapter" | "thread">;

export function toReaction(adapter: Facts, reaction: Reaction): InboundMessage | undefined {
  const { threadId, messageId, message, emoji: known, rawEmoji, added, user, raw } = reaction;
  if (isBot(user)) return undefined;
  const name = rawEmoji.replaceAll(":", "");
  const emoji = /\P{ASCII}/u.test(rawEmoji) ? rawEmoji : (emojiOf(name) ?? emojiOf(known.name) ?? `:${name}:`);
  const own = message ? { isOwn: message.author.isMe } : {};
  const event = { kind: "reaction", messageId, emoji, isRemoved: !added, ...own } as const;
  const id = idOf("reaction", raw, `${rawEmoji} ${added}`);
  return { ...id, messageId, ...placeOf(adapter, threadId, user), text: "", event };
}

type Press = Pick<ActionEvent, "actionId" | "messageId" | "raw" | "threadId" | "user" | "value">;

/** @param button what was sent as the button; `undefined`: it is not one of the gateway */
export function toButton(adapter: Facts, press: Press, button: StoredButton | undefined): InboundMessage | undefined {
  const { threadId, messageId, actionId, value = actionId, user, raw } = press;
  if (isBot(user)) return undefined;
  const event = { kind: "button", messageId, value: button?.value ?? value } as const;
  return { ...idOf("button", raw), messageId, ...placeOf(adapter, threadId, user), text: button?.label ?? "", event };
}

type Command = Pick<SlashCommandEvent, "command" | "text" | "user" | "raw"> & { readonly channelId: string };

export function toCommand(adapter: Facts, command: Command): InboundMessage | undefined {
  const { channelId, command: name, text, user, raw } = command;
  if (isBot(user)) return undefined;
  const words = `/${name.replace(/^\/+/, "")} ${text}`.trim();
  return { ...idOf("command", raw), ...placeOf(adapter, channelId, user), text: words, mentioned: true };
}

/**
 * An address as people write it: the id of a thread (`gchat:spaces/...`), or the id of a person, alone or after `user:`; each
 * also after `chat-sdk:`.
 */
export function addressOf(text: string): string | undefined {
  const [, id] = /^(?:chat-sdk:)?((?!chat-sdk:)[^\s\p{Cc}]{1,500})$/u.exec(text.trim()) ?? [];
  if (id === undefined || id === "user:") return undefined;
  return /^[a-z][\w-]*:./i.test(id) ? id : `user:${id}`;
}
