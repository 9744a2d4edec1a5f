/** Translation of events into messages of the gateway, and of addresses. Pure. */
import { mediaKindOf } from "@svc/kit/channels";
import type { InboundEvent, InboundMessage, MediaKind } from "@svc/sdk/channels";
import type { Json } from "./api.ts";
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

/** Address of a file: server and id. */
export const MXC = /^mxc:\/\/([\w[][\w.:[\]-]*)\/([\w-]+)$/;

const textOf = (value: unknown) => (typeof value === "string" ? value : "");
const objectOf = (value: unknown) => Object(value) as Json; // each field is checked where it is used

/** @returns `undefined`: the event says nothing to the agent, e.g. the notice of a bot */
export function toInbound(event: RoomEvent, facts: EventFacts): InboundMessage | undefined {
  const { me, roomId, room, isDirect, related } = facts;
  const { event_id: id, sender: from, origin_server_ts: sentAt = 0 } = event;
  const change = changeOf(event, facts);
  const isMessage = MESSAGES.includes(event.type);
  if (change === "none" || (!change && !isMessage)) return undefined;
  const content = change?.kind === "edit" ? objectOf(event.content["m.new_content"]) : event.content;
  const words = isMessage ? wordsOf(content, event.type) : { text: "" };
  if (!words) return undefined;
  const name = room.members.get(from) || undefined;
  const chatName = isDirect ? name : room.name;
  const threadId = threadOf(event) ?? (related && change ? threadOf(related) : undefined);
  return {
    id,
    messageId: change && "messageId" in change ? (change.messageId ?? id) : id,
    chat: {
      type: isDirect ? "direct" : "group",
      id: isDirect ? `user:${from}` : roomId,
      ...(chatName === undefined ? {} : { name: chatName }),
      ...(threadId === undefined ? {} : { threadId }),
    },
    sender: name === undefined ? { id: from } : { id: from, name },
    ...words,
    ...(isMessage ? addressed(content, words.text, me, room.members.get(me) ?? "") : {}),
    ...(change ? { event: change } : replyOf(event, facts)),
    ...(sentAt > 0 ? { at: sentAt } : {}),
  };
}

/** @returns `none`: the change is not of its author, or to something unknown; `undefined`: no change */
function changeOf(
  { type, sender, content }: RoomEvent,
  { me, related }: EventFacts,
): InboundEvent | "none" | undefined {
  const { rel_type: relation, event_id: id = "", key: emoji } = relationOf({ content });
  const isOwn = related?.sender === me;
  if (type === "m.reaction") return emoji && id !== "" ? { kind: "reaction", messageId: id, emoji, isOwn } : "none";
  if (type === "m.room.redaction") {
    if (related && MESSAGES.includes(related.type)) return { kind: "deletion", messageId: related.event_id };
    const { event_id: messageId, key } = related?.type === "m.reaction" ? relationOf(related) : {};
    return messageId && key ? { kind: "reaction", messageId, emoji: key, isRemoved: true } : "none";
  }
  if (POLL_RESPONSES.includes(type)) {
    if (!isOwn || related.type !== POLL_START) return "none";
    return { kind: "poll-answer", pollId: id, options: chosen(content, objectOf(related.content[POLL_START])) };
  }
  if (relation !== "m.replace") return undefined;
  // Any member can send a replacement of a message; only the author's counts.
  return related?.sender === sender ? { kind: "edit", messageId: id } : "none";
}

/** Texts of the selected options, at most as many as the poll permits. */
function chosen(content: Json, { answers, max_selections: max = 1 }: Json): string[] {
  const selected = content["m.selections"] ?? objectOf(content["org.matrix.msc3381.poll.response"])["answers"];
  const options = (Array.isArray(answers) ? answers : []).map(objectOf);
  return (Array.isArray(selected) ? selected : [])
    .slice(0, Number(max))
    .map((id) => textOf(options.find((one) => one["id"] === id)?.["org.matrix.msc1767.text"]))
    .filter((option) => option !== "");
}

/** @returns `undefined`: not of a person, or unknown */
function wordsOf(content: Json, eventType: string): Pick<InboundMessage, "text" | "media" | "location"> | undefined {
  const isSticker = eventType === "m.sticker";
  const type = isSticker ? "m.image" : textOf(content["msgtype"]);
  const body = textOf(content["body"]);
  if (type === "m.text") return { text: withoutQuote(content) };
  if (type === "m.emote") return { text: `* ${withoutQuote(content)}` };
  if (type === "m.location") {
    const [, latitude, longitude] = /^geo:(-?[\d.]+),(-?[\d.]+)/.exec(textOf(content["geo_uri"])) ?? [];
    if (latitude === undefined) return { text: body };
    const place = { latitude: Number(latitude), longitude: Number(longitude) };
    return { text: "", location: body === "" ? place : { ...place, name: body } };
  }
  const kind = /^m\.(image|audio|video|file)$/.exec(type)?.[1] as MediaKind | undefined; // these are the kinds
  if (kind === undefined) return undefined;
  const { mimetype, size } = objectOf(content["info"]);
  const [ref, mimeType, filename] = [textOf(content["url"]), textOf(mimetype), textOf(content["filename"])];
  const text = filename === "" || filename === body || isSticker ? "" : body;
  if (!MXC.test(ref)) return { text };
  const file = {
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
function withoutQuote(content: Json): string {
  const body = textOf(content["body"]);
  const isReply = relationOf({ content })["m.in_reply_to"] !== undefined;
  return isReply ? body.replace(/^> <@[^\n]*\n(?:>[^\n]*\n)*\n?/, "") : body;
}

const threadOf = (event: RoomEvent) =>
  relationOf(event).rel_type === "m.thread" ? relationOf(event).event_id : undefined;

function replyOf(event: RoomEvent, { me, room, related }: EventFacts): Pick<InboundMessage, "replyTo"> {
  const messageId = related?.event_id ?? relationOf(event)["m.in_reply_to"]?.event_id;
  if (messageId === undefined || !related) return messageId === undefined ? {} : { replyTo: { messageId } };
  const senderName = room.members.get(related.sender) || related.sender;
  const text = withoutQuote(related.content);
  return { replyTo: { messageId, ...(text === "" ? {} : { text }), senderName, isOwn: related.sender === me } };
}

const escaped = (text: string) => text.replace(/[.\\^$*+?()[\]{}|]/g, String.raw`\$&`);

/** Whether a text addresses the bot, and the text without its name at the start. */
function addressed(content: Json, text: string, me: string, name: string) {
  const { user_ids: ids } = objectOf(content["m.mentions"]);
  const html = textOf(content["formatted_body"]).replaceAll(/%40/gi, "@").replaceAll(/%3A/gi, ":");
  const isKnown = (Array.isArray(ids) && ids.includes(me)) || html.includes(`https://matrix.to/#/${me}"`);
  const local = me.slice(1, me.indexOf(":"));
  const names = [me, `@${local}`, local, ...(name === "" ? [] : [`@${name}`, name])].map(escaped).join("|");
  // A bare name can be the first word of a sentence, so that it needs a colon or comma unless the bot is mentioned.
  const leading = new RegExp(String.raw`^\s*(?:${names})${isKnown ? String.raw`(?:\s*[:,])?` : "[:,]"}(?:\s+|$)`, "iu");
  const named = new RegExp(String.raw`(?<![\w@])(?:${escaped(me)}|@${escaped(local)})(?![\w:.-])`, "iu");
  return { text: text.replace(leading, ""), mentioned: isKnown || leading.test(text) || named.test(text) };
}

const USER = /^@[^\s:/]+:[\w.:[\]-]+$/;
/** Rooms of version 12 and later have ids without a server. */
const ROOM = /^(?:[!#][^\s:]+:[\w.:[\]-]+|![\w-]{43})$/;

/**
 * An address as people write it: `@user:server`, `!room:server`, `#alias:server`, with `user:`, `room:` or `matrix:` before
 * it, or as a matrix.to link.
 * @returns `user:@…` for a person; `undefined`: not an address
 */
export function addressOf(text: string): string | undefined {
  const [, link = text] = /^\s*https:\/\/matrix\.to\/#\/([^/?]+)/i.exec(text) ?? [];
  const plain = link.replaceAll(/%(?:40|3A|21|23)/gi, (code) => decodeURIComponent(code)).trim();
  const [, prefix = "", id = ""] = /^(?:matrix:)?(user:|room:)?(\S+)$/i.exec(plain) ?? [];
  if (USER.test(id)) return prefix.toLowerCase() === "room:" ? undefined : `user:${id}`;
  return ROOM.test(id) && prefix.toLowerCase() !== "user:" ? id : undefined;
}
