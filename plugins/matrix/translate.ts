/** Translation of events into messages of the gateway, and of addresses. Pure. */
import { mediaKindOf } from "@svc/kit/channels";
import type { InboundEvent, InboundLocation, InboundMedia, InboundMessage, MediaKind } from "@svc/sdk/channels";
import type { Room } from "./directory.ts";
import { MESSAGES, POLL_RESPONSES, POLL_START, relationOf, type RoomEvent } from "./events.ts";

/** What is known about an event beyond its own fields. */
export interface EventFacts {
  readonly me: string;
  readonly roomId: string;
  readonly room: Room;
  readonly isDirect: boolean;
  /** The event that `relatedId` names. */
  readonly related?: RoomEvent | undefined;
}

type Content = Readonly<Record<string, unknown>>;

const MEDIA: Readonly<Record<string, MediaKind>> = {
  "m.image": "image",
  "m.audio": "audio",
  "m.video": "video",
  "m.file": "file",
};
/** An address of a file: server and id. */
export const MXC = /^mxc:\/\/([\w.:[\]-]+)\/([\w-]+)$/;

const textOf = (value: unknown) => (typeof value === "string" ? value : "");
const objectOf = (value: unknown) => Object(value) as Content; // each field is checked where it is used

/** @returns `undefined`: the event says nothing to the agent, e.g. the notice of a bot */
export function toInbound(event: RoomEvent, facts: EventFacts): InboundMessage | undefined {
  const { me, roomId, room, isDirect, related } = facts;
  const { event_id: id, sender: from, origin_server_ts: sentAt = 0 } = event;
  const change = changeOf(event, facts);
  const isMessage = MESSAGES.has(event.type);
  if (change === "none" || (!change && !isMessage)) return undefined;
  const content = change?.kind === "edit" ? objectOf(event.content["m.new_content"]) : event.content;
  const words = isMessage ? wordsOf(content, event.type) : { text: "" };
  if (!words) return undefined;
  const name = room.members.get(from) || undefined;
  const sender = { id: from, ...(name === undefined ? {} : { name }) };
  const chatName = isDirect ? name : room.name;
  const threadId = threadOf(event) ?? (related && change ? threadOf(related) : undefined);
  const addressing = addressed(content, words.text, me, room.members.get(me) ?? "");
  return {
    id,
    messageId: change && "messageId" in change ? (change.messageId ?? id) : id,
    chat: {
      type: isDirect ? "direct" : "group",
      id: isDirect ? `user:${from}` : roomId,
      ...(chatName === undefined ? {} : { name: chatName }),
      ...(threadId === undefined ? {} : { threadId }),
    },
    sender,
    ...words,
    ...(isMessage ? addressing : {}),
    ...(change ? { event: change } : replyOf(event, facts)),
    ...(sentAt > 0 ? { at: sentAt } : {}),
  };
}

/** @returns `none`: the change is not of its author, or to something unknown; `undefined`: no change */
function changeOf(event: RoomEvent, { me, related }: EventFacts): InboundEvent | "none" | undefined {
  const { rel_type: relation, event_id: id = "", key = "" } = relationOf(event);
  const isOwn = related?.sender === me;
  if (event.type === "m.reaction") {
    if (relation !== "m.annotation" || key === "" || id === "") return "none";
    return { kind: "reaction", messageId: id, emoji: key, isOwn };
  }
  if (event.type === "m.room.redaction") {
    if (!related) return "none";
    if (MESSAGES.has(related.type)) return { kind: "deletion", messageId: related.event_id };
    const removed = relationOf(related);
    if (related.type !== "m.reaction" || removed.key === undefined || removed.event_id === undefined) return "none";
    return { kind: "reaction", messageId: removed.event_id, emoji: removed.key, isRemoved: true };
  }
  if (POLL_RESPONSES.has(event.type)) {
    if (!isOwn || related.type !== POLL_START) return "none";
    return { kind: "poll-answer", pollId: id, options: chosen(event.content, related.content) };
  }
  if (relation !== "m.replace") return undefined;
  // Any member can send a replacement of a message; only the author's counts.
  return related?.sender === event.sender ? { kind: "edit", messageId: id } : "none";
}

/** Texts of the selected options, at most as many as the poll permits. */
function chosen(answer: Content, poll: Content): string[] {
  const old = objectOf(answer["org.matrix.msc3381.poll.response"]);
  const selected = [answer["m.selections"], old["answers"]].find(Array.isArray) as readonly unknown[] | undefined; // compared below
  const { answers, max_selections: max = 1 } = objectOf(poll[POLL_START]);
  const options = (Array.isArray(answers) ? answers : []).map(objectOf);
  return (selected ?? []).slice(0, Number(max)).flatMap((id) => {
    const option = options.find((one) => one["id"] === id);
    return option ? [textOf(option["org.matrix.msc1767.text"])] : [];
  });
}

interface Words {
  readonly text: string;
  readonly media?: readonly InboundMedia[];
  readonly location?: InboundLocation;
}

/** @returns `undefined`: not of a person, or unknown */
function wordsOf(content: Content, eventType: string): Words | undefined {
  const type = eventType === "m.sticker" ? "m.image" : textOf(content["msgtype"]);
  const body = textOf(content["body"]);
  if (type === "m.text") return { text: withoutQuote(content) };
  if (type === "m.emote") return { text: `* ${withoutQuote(content)}` };
  if (type === "m.location") {
    const [, latitude, longitude] = /^geo:(-?[\d.]+),(-?[\d.]+)/.exec(textOf(content["geo_uri"])) ?? [];
    if (latitude === undefined || longitude === undefined) return { text: body };
    const place = { latitude: Number(latitude), longitude: Number(longitude) };
    return { text: "", location: body === "" ? place : { ...place, name: body } };
  }
  const kind = MEDIA[type];
  if (kind === undefined) return undefined;
  const { mimetype, size } = objectOf(content["info"]) as { readonly mimetype?: unknown; readonly size?: unknown }; // checked here
  const [ref, mimeType] = [textOf(content["url"]), textOf(mimetype)];
  const filename = textOf(content["filename"]);
  const text = filename === "" || filename === body || eventType === "m.sticker" ? "" : body;
  if (!MXC.test(ref)) return { text };
  const file: InboundMedia = {
    ref,
    kind: mimeType === "" ? kind : mediaKindOf(mimeType),
    ...(filename || body ? { name: filename || body } : {}),
    ...(mimeType === "" ? {} : { mimeType }),
    ...(typeof size === "number" && size >= 0 ? { size } : {}),
    ...("org.matrix.msc3245.voice" in content ? { isVoice: true } : {}),
  };
  return { text, media: [file] };
}

/** The text without the quote that older clients write before an answer. */
export function withoutQuote(content: Content): string {
  const body = textOf(content["body"]);
  const isReply = relationOf({ content })["m.in_reply_to"] !== undefined;
  return isReply ? body.replace(/^> <@[^\n]*\n(?:>[^\n]*\n)*\n?/, "") : body;
}

function threadOf(event: RoomEvent): string | undefined {
  const { rel_type: type, event_id: id } = relationOf(event);
  return type === "m.thread" ? id : undefined;
}

function replyOf({ content }: RoomEvent, { me, room, related }: EventFacts): Pick<InboundMessage, "replyTo"> {
  const { "m.in_reply_to": reply, rel_type: type } = relationOf({ content });
  const messageId = related?.event_id ?? reply?.event_id;
  if (messageId === undefined || (!reply && type !== "m.thread")) return {};
  if (!related) return { replyTo: { messageId } };
  const senderName = room.members.get(related.sender) || related.sender;
  const text = withoutQuote(related.content);
  return { replyTo: { messageId, ...(text === "" ? {} : { text }), senderName, isOwn: related.sender === me } };
}

const escaped = (text: string) => text.replace(/[.\\^$*+?()[\]{}|-]/g, String.raw`\$&`);

/** Whether a text addresses the bot, and the text without its name at the start. */
function addressed(content: Content, text: string, me: string, name: string) {
  const { user_ids: ids } = objectOf(content["m.mentions"]);
  const isListed = Array.isArray(ids) && ids.includes(me);
  const link = `https://matrix.to/#/${me}`.toLowerCase();
  const isLinked = decoded(textOf(content["formatted_body"])).toLowerCase().includes(link);
  const local = me.slice(1, me.indexOf(":"));
  const names = [me, `@${local}`, local, ...(name === "" ? [] : [`@${name}`, name])].map(escaped).join("|");
  const isKnown = isListed || isLinked;
  // A bare name can be the first word of a sentence, so that it needs a colon or comma unless the server lists it.
  const leading = new RegExp(String.raw`^\s*(?:${names})${isKnown ? String.raw`(?:\s*[:,])?` : "[:,]"}(?:\s+|$)`, "iu");
  const isNamed = new RegExp(String.raw`(?<![\w@])(?:${escaped(me)}|@${escaped(local)})(?![\w:.-])`, "iu").test(text);
  const isLeading = leading.test(text);
  const mentioned = isKnown || isNamed || isLeading;
  return { text: isLeading ? text.replace(leading, "") : text, mentioned };
}

function decoded(text: string): string {
  return text.replaceAll(/%40/gi, "@").replaceAll(/%3A/gi, ":");
}

const USER = /^@[^\s:/]+:[\w.:[\]-]+$/;
const ALIAS = /^#[^\s:]+:[\w.:[\]-]+$/;
/** Rooms of version 12 and later have ids without a server. */
const ROOM = /^!(?:[^\s:]+:[\w.:[\]-]+|[\w-]{43})$/;

/**
 * An address as people write it: `@user:server`, `!room:server`, `#alias:server`, with `user:`, `room:` or `matrix:` before
 * it, or as a matrix.to link.
 * @returns `user:@…` for a person; `undefined`: not an address
 */
export function addressOf(text: string): string | undefined {
  const [, linked] = /^https:\/\/matrix\.to\/#\/([^/?]+)/i.exec(text.trim()) ?? [];
  const [, prefix = "", id = ""] = /^(?:matrix:)?(user:|room:)?(\S+)$/i.exec(safeDecoded(linked) ?? text.trim()) ?? [];
  const kind = prefix.toLowerCase();
  if (USER.test(id)) return kind === "room:" ? undefined : `user:${id}`;
  return (ROOM.test(id) || ALIAS.test(id)) && kind !== "user:" ? id : undefined;
}

function safeDecoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined; // no link that a client made
  }
}
