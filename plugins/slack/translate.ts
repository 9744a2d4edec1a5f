/** Translation between what Slack sends and messages of the gateway. Pure. */
import { matches, type Static } from "@svc/sdk";
import { mediaKindOf } from "@svc/kit/channels";
import type { InboundChat, InboundMedia, InboundMessage } from "@svc/sdk/channels";
import { emojiNamed } from "./emoji.ts";
import {
  Authorized,
  BlockActions,
  Callback,
  MessageEvent,
  ReactionEvent,
  shaped,
  SlackFile,
  SlashCommand,
  WrittenMessage,
} from "./events.ts";
import { mentionedIn, readable, withoutLeading } from "./text.ts";

/** Kinds of deliveries, as Socket Mode names them. */
export type DeliveryKind = "events_api" | "interactive" | "slash_commands";

/** Who the bot is, and what its app is called. */
export interface Bot {
  readonly userId: string;
  /** Id of the workspace, or of the organization in which the app is installed. */
  readonly teamId: string;
  readonly slashCommand: string;
  /** Names of the gateway's commands: `/svc status` is the command `/status`, `/svc hello` the text `hello`. */
  readonly commands: readonly string[];
}

/** A message whose text still has Slack's markup. `named` completes it. */
export interface Incoming {
  readonly message: InboundMessage & { readonly id: string };
  /** Ids of the people whose names it needs; the first is the sender. */
  readonly people: readonly string[];
}

/** Subtypes of messages that people write. */
const WRITTEN_SUBTYPES = ["file_share", "thread_broadcast", "me_message"];
const NO_ACCESS = ["tombstone", "hidden_by_limit"];

/** The messages of a delivery; empty if the agent has no use for it. @throws Error the delivery is malformed */
export function toIncoming(kind: DeliveryKind, body: unknown, bot: Bot): readonly Incoming[] {
  if (kind === "interactive") return fromActions(body);
  const one = kind === "slash_commands" ? fromCommand(body, bot) : fromEvent(body, bot);
  return one ? [one] : [];
}

/**
 * Whether an event is for the bot in another workspace: Slack sends those of all workspaces with the app over each connection,
 * and to the same address.
 */
export function isForeign(body: unknown, { teamId }: Bot): boolean {
  return (
    matches(Authorized, body) &&
    body.authorizations.some((one) => one.is_enterprise_install !== true && one.team_id !== teamId)
  );
}

/** Completes a message with names of people by id. */
export function named({ message }: Incoming, names: ReadonlyMap<string, string>): InboundMessage {
  const name = names.get(message.sender.id);
  const { forwarded } = message;
  return {
    ...message,
    text: readable(message.text, names),
    ...(forwarded && { forwarded: { ...forwarded, text: readable(forwarded.text, names) } }),
    sender: { ...message.sender, ...(name === undefined ? {} : { name }) },
  };
}

function fromEvent(body: unknown, bot: Bot): Incoming | undefined {
  const { event, event_id: eventId, team_id: teamId } = shaped(Callback, body);
  const of: Origin = { bot, id: `event:${eventId}`, teamId };
  switch (event.type) {
    case "message":
    case "app_mention":
      return fromMessage(shaped(MessageEvent, event), of);
    case "reaction_added":
    case "reaction_removed":
      return fromReaction(shaped(ReactionEvent, event), event.type === "reaction_removed", of);
    default:
      return undefined;
  }
}

interface Origin {
  readonly bot: Bot;
  readonly id: string;
  readonly teamId: string | null | undefined;
}

type Written = Static<typeof WrittenMessage>;

function fromMessage(event: Static<typeof MessageEvent>, { bot, id, teamId }: Origin): Incoming | undefined {
  const place = (threadId: string | undefined) => chatOf(event.channel, event.channel_type, teamId, threadId);
  const { subtype, message: changed, previous_message: previous } = event;
  const isDeleted = subtype === "message_deleted" || changed?.subtype === "tombstone";
  if (isDeleted) {
    const messageId = event.deleted_ts ?? changed?.ts ?? previous?.ts;
    if (!previous || messageId === undefined || !isPerson(previous, bot)) return undefined;
    const common = { id, messageId, chat: place(threadOf(previous)), sender: { id: previous.user } };
    return { message: { ...common, text: "", event: { kind: "deletion", messageId } }, people: [previous.user] };
  }
  if (subtype === "message_changed") {
    if (!changed || !isPerson(changed, bot)) return undefined;
    // Slack also sends the event when it adds a preview or a reply to the message.
    if (previous && previous.text === changed.text) return undefined;
    const content = contentOf(changed, bot, place(threadOf(changed)));
    return { ...content, message: { ...content.message, id, event: { kind: "edit", messageId: changed.ts } } };
  }
  if (subtype && !WRITTEN_SUBTYPES.includes(subtype)) return undefined;
  if (!isPerson(event, bot)) return undefined;
  const content = contentOf(event, bot, place(threadOf(event)));
  // A mention arrives as `message` and as `app_mention`, with the same id; one that invites the bot only as `app_mention`.
  return { ...content, message: { ...content.message, id: `message:${event.channel}:${event.ts}` } };
}

type ByPerson<T> = T & { readonly user: string };

function isPerson<T extends Pick<Written, "user" | "bot_id">>(written: T, bot: Bot): written is ByPerson<T> {
  const { user, bot_id: botId } = written;
  return !botId && !!user && user !== bot.userId && user !== "USLACKBOT";
}

function contentOf(written: ByPerson<Written>, bot: Bot, chat: InboundChat) {
  const { user, ts, text, files, attachments } = written;
  const raw = text ?? "";
  const { media: own, links } = mediaOf(files ?? []);
  const shared = sharedIn(attachments ?? []);
  const media = [...own, ...(shared?.media ?? [])];
  const mentioned = mentionedIn(raw);
  const message = {
    messageId: ts,
    chat,
    sender: { id: user },
    text: [withoutLeading(raw, bot.userId), ...links].filter((part) => part !== "").join("\n"),
    // An answer in a thread that the bot began is an answer to the bot.
    mentioned: mentioned.includes(bot.userId) || written.parent_user_id === bot.userId,
    ...(media.length === 0 ? {} : { media }),
    ...(shared && { forwarded: shared.forwarded }),
    ...timeOf(ts),
  };
  return { message, people: [user, ...mentioned, ...mentionedIn(shared?.forwarded.text ?? "")] };
}

/** Messages that the person forwards or links to. Slack puts them behind the text, as it does previews of pages. */
function sharedIn(attachments: NonNullable<Written["attachments"]>) {
  const shared = attachments.filter((one) => one.is_share || one.is_msg_unfurl);
  const [first] = shared;
  if (!first) return undefined;
  const { media, links } = mediaOf(shared.flatMap(({ files }) => files ?? []));
  const text = [...shared.map((one) => one.text), ...links].filter(Boolean).join("\n");
  return { media, forwarded: { text, ...(first.author_name ? { from: first.author_name } : {}) } };
}

function mediaOf(files: readonly Static<typeof SlackFile>[]): { media: InboundMedia[]; links: string[] } {
  const readableFiles = files.filter(({ mode }) => !mode || !NO_ACCESS.includes(mode));
  // A file that is stored elsewhere must not be requested with the token of the bot.
  const isElsewhere = ({ mode }: Static<typeof SlackFile>) => mode === "external";
  const media = readableFiles
    .filter((file) => !isElsewhere(file))
    .map(({ id, name, mimetype, size, subtype }): InboundMedia => ({
      ref: id,
      kind: mediaKindOf(mimetype ?? ""),
      ...(name ? { name } : {}),
      ...(mimetype ? { mimeType: mimetype } : {}),
      ...(typeof size === "number" ? { size } : {}),
      ...(subtype === "slack_audio" ? { isVoice: true } : {}),
    }));
  const links = readableFiles
    .filter(isElsewhere)
    .map(({ title, name, url_private: url }) => [title ?? name ?? "file", url ?? ""].filter(Boolean).join(": "));
  return { media, links };
}

function fromReaction(
  event: Static<typeof ReactionEvent>,
  isRemoved: boolean,
  { bot, id, teamId }: Origin,
): Incoming | undefined {
  const { user, reaction, item, item_user: author } = event;
  const { channel, ts: messageId } = item;
  if (item.type !== "message" || !channel || !messageId || user === bot.userId) return undefined;
  return {
    message: {
      id,
      messageId,
      chat: chatOf(channel, undefined, teamId),
      sender: { id: user },
      text: "",
      event: {
        kind: "reaction",
        messageId,
        emoji: emojiNamed(reaction),
        ...(isRemoved ? { isRemoved } : {}),
        isOwn: author === bot.userId,
      },
    },
    people: [user],
  };
}

function fromActions(body: unknown): Incoming[] {
  if ((body as { readonly type?: unknown } | null)?.type !== "block_actions") return []; // an unknown value is read safely
  const { user, team, channel, container, actions } = shaped(BlockActions, body);
  if (!channel) return []; // a view instead of a message
  const messageId = container.message_ts;
  return actions.flatMap(({ action_id: actionId, action_ts: at, value, text }) => {
    if (typeof value !== "string") return [];
    const chat = chatOf(channel.id, undefined, team?.id, container.thread_ts ?? undefined);
    const message = {
      id: `action:${channel.id}:${messageId ?? ""}:${user.id}:${at}:${actionId}`,
      ...(messageId ? { messageId } : {}),
      chat: { ...chat, ...(chat.type === "group" ? channelName(channel.name) : {}) },
      sender: { id: user.id },
      text: text?.text ?? "",
      mentioned: true,
      event: { kind: "button" as const, value, ...(messageId ? { messageId } : {}) },
      ...timeOf(at),
    };
    return [{ message, people: [user.id] }];
  });
}

function fromCommand(body: unknown, bot: Bot): Incoming | undefined {
  const { command, text, user_id: user, team_id: teamId, ...call } = shaped(SlashCommand, body);
  if (command !== bot.slashCommand) return undefined;
  const said = (text ?? "").trim();
  const name = call.channel_name ?? "";
  // A direct chat may be one of two people, in which the bot cannot write: the answer goes to the bot's own.
  const isDirect = name === "directmessage" || call.channel_id.startsWith("D");
  const chat = chatOf(isDirect ? user : call.channel_id, isDirect ? "im" : "channel", teamId);
  return {
    message: {
      id: `command:${call.trigger_id}`,
      chat: { ...chat, ...(isDirect ? {} : channelName(name)) },
      sender: { id: user },
      text: said === "" ? "/help" : bot.commands.includes(firstWord(said)) ? `/${said}` : said,
      mentioned: true,
    },
    people: [user, ...mentionedIn(said)],
  };
}

/** Slack names no private channel: all of them are called `privategroup`. */
function channelName(name: string | null | undefined): { name?: string } {
  return name && name !== "privategroup" ? { name } : {};
}

const firstWord = (text: string) => text.split(/\s/, 1)[0]?.toLowerCase() ?? "";

/** @param type `channel_type` of the event; `app_mention` and reactions have none, but direct chats have ids of their own */
function chatOf(id: string, type: string | null | undefined, teamId?: string | null, threadId?: string): InboundChat {
  return {
    type: type === "im" || (!type && id.startsWith("D")) ? "direct" : "group",
    id,
    ...(threadId === undefined ? {} : { threadId }),
    ...(teamId ? { teamId } : {}),
  };
}

/** The thread that a message is in; the message that begins a thread is not in it. */
function threadOf({ ts, thread_ts: thread }: Pick<Written, "ts" | "thread_ts">): string | undefined {
  return thread && thread !== ts ? thread : undefined;
}

/** @param ts seconds, with a fraction */
function timeOf(ts: string): { at?: number } {
  const at = Math.round(Number(ts) * 1_000);
  return at > 0 ? { at } : {};
}

const ADDRESS =
  /^(?:<#([CGD][A-Z0-9]{7,20})(?:\|[^<>\n]*)?>|<@([UW][A-Z0-9]{7,20})(?:\|[^<>\n]*)?>|channel:([CGD][A-Z0-9]{7,20})|user:([UW][A-Z0-9]{7,20})|([CGDUW][A-Z0-9]{7,20}))$/;

/** The id of a conversation or person; `undefined`: the text names neither. */
export function addressOf(text: string): string | undefined {
  return ADDRESS.exec(text.trim())?.slice(1).find(Boolean);
}

export function isPersonId(to: string): boolean {
  return /^[UW]/.test(to);
}

export function chatTypeOf(to: string): "direct" | "group" {
  return isPersonId(to) || to.startsWith("D") ? "direct" : "group";
}
