/** Converts events of the daemon to messages of the gateway. Pure. */
import { mediaKindOf } from "@svc/kit/channels";
import type { InboundChat, InboundMedia, InboundMessage } from "@svc/sdk/channels";
import type { Data, Edit, ReceiveEvent } from "./envelope.ts";

/** The own account, and what the gateway knows about earlier messages. */
export interface Facts {
  /** As in the settings. */
  readonly account: string;
  /** Own id, if the daemon tells. */
  readonly aci?: string | undefined;
  /** Id of the message that this one is an edit of; any other id as it is. */
  readonly originalOf: (id: string) => string;
}

interface Person {
  readonly number?: string | null | undefined;
  readonly uuid?: string | null | undefined;
}

/** What agents see of media that Signal shows only once. */
export const VIEW_ONCE = "[view-once media: not downloaded]";

/** Names a message: two people can send one in the same millisecond. */
export const idOf = (timestamp: number, author: string) => `${timestamp}:${author}`;

/** @returns `undefined`: no message of a person, e.g. a receipt, or a message that another own device sent to somebody */
export function toInbound({ account: of, envelope }: ReceiveEvent, facts: Facts): InboundMessage | undefined {
  if (!envelope || (of != null && !isOwn({ number: of, uuid: of }, facts))) return undefined;
  const { sourceNumber, sourceUuid, sourceName, timestamp, dataMessage, editMessage, syncMessage } = envelope;
  const sender = authorOf({ number: sourceNumber, uuid: sourceUuid }, facts);
  if (sender === undefined) return undefined;
  const sent = syncMessage?.sentMessage;
  const isToSelf = sent && isOwn({ number: sent.destinationNumber, uuid: sent.destinationUuid }, facts);
  if (!isToSelf && sender === facts.account) return undefined; // the agent's own words
  const edit = (isToSelf ? sent.editMessage : editMessage) ?? undefined;
  const data = edit?.dataMessage ?? (isToSelf ? sent : dataMessage);
  if (!data) return undefined;
  const content = contentOf(data, edit, sender, facts);
  if (!content) return undefined;
  const id = idOf(timestamp, sender);
  const named = sourceName ? { name: sourceName } : {};
  return {
    id,
    messageId: id,
    chat: chatOf(data, { type: "direct", id: sender, ...named }),
    sender: { id: sender, ...named },
    ...content,
    at: timestamp,
  };
}

function isOwn({ number, uuid }: Person, { account, aci }: Facts): boolean {
  return number === account || uuid === account || (aci !== undefined && uuid === aci);
}

/** Choice: the id of the account, because numbers change hands. The own account is named as in the settings. */
function authorOf(person: Person, facts: Facts): string | undefined {
  return isOwn(person, facts) ? facts.account : (person.uuid ?? person.number ?? undefined);
}

function chatOf({ groupInfo }: Data, direct: InboundChat): InboundChat {
  if (!groupInfo) return direct;
  const { groupId, groupName } = groupInfo;
  return { type: "group", id: `group:${groupId}`, ...(groupName ? { name: groupName } : {}) };
}

type Content = Pick<InboundMessage, "text" | "mentioned" | "media" | "replyTo" | "event">;

/** @returns `undefined`: nothing that the gateway knows, e.g. a new timer of disappearing messages, or a call */
function contentOf(data: Data, edit: Edit | undefined, sender: string, facts: Facts): Content | undefined {
  const { reaction, remoteDelete, quote, viewOnce } = data;
  const refer = (timestamp: number, author = sender) => facts.originalOf(idOf(timestamp, author));
  if (remoteDelete) return { text: "", event: { kind: "deletion", messageId: refer(remoteDelete.timestamp) } };
  if (reaction) {
    const { emoji, targetSentTimestamp, isRemove, targetAuthorNumber: number, targetAuthorUuid: uuid } = reaction;
    const messageId = refer(targetSentTimestamp, authorOf({ number, uuid }, facts));
    const more = { ...(isRemove ? { isRemoved: true } : {}), isOwn: isOwn({ number, uuid }, facts) };
    return { text: "", event: { kind: "reaction", messageId, emoji, ...more } };
  }
  const { text, isMentioned } = spelledOut(data.message ?? "", data.mentions ?? [], facts);
  const media = viewOnce ? [] : mediaOf(data, sender);
  const shown = viewOnce ? `${text}\n${VIEW_ONCE}`.trim() : text;
  if (shown === "" && media.length === 0 && !isMentioned) return undefined;
  return {
    text: shown,
    ...(isMentioned ? { mentioned: true } : {}),
    ...(media.length > 0 ? { media } : {}),
    ...(quote ? { replyTo: replyOf(quote, facts) } : {}),
    ...(edit ? { event: { kind: "edit", messageId: refer(edit.targetSentTimestamp) } } : {}),
  };
}

function replyOf({ id, text, mentions, authorNumber, authorUuid }: NonNullable<Data["quote"]>, facts: Facts) {
  const author = { number: authorNumber, uuid: authorUuid };
  return {
    messageId: facts.originalOf(idOf(id, authorOf(author, facts) ?? "")),
    ...(text ? { text: spelledOut(text, mentions ?? [], facts).text } : {}),
    isOwn: isOwn(author, facts),
  };
}

/** The text with names in the places of mentions, which have one placeholder character. A leading own mention is left out. */
function spelledOut(text: string, mentions: NonNullable<Data["mentions"]>, facts: Facts) {
  let isMentioned = false;
  let rest = text;
  for (const { start, length, ...person } of mentions.toSorted((left, right) => right.start - left.start)) {
    const isMe = isOwn(person, facts);
    isMentioned ||= isMe;
    const isLeading = isMe && rest.slice(0, start).trim() === "";
    const name = isLeading ? "" : `@${person.name ?? person.number ?? person.uuid ?? "somebody"}`;
    rest = `${rest.slice(0, start)}${name}${rest.slice(start + length)}`;
    if (isLeading) rest = rest.trimStart();
  }
  return { text: rest, isMentioned };
}

function mediaOf({ attachments, sticker, groupInfo }: Data, sender: string): InboundMedia[] {
  const place = groupInfo ? `group:${groupInfo.groupId}` : sender;
  const loaded = attachments?.filter(({ id }) => id) ?? []; // the daemon could not load the others
  const files = loaded.map(({ id, contentType, filename, size, isVoiceNote }): InboundMedia => ({
    ref: `file ${place} ${id}`,
    kind: mediaKindOf(contentType ?? ""),
    ...(filename ? { name: filename } : {}),
    ...(contentType ? { mimeType: contentType } : {}),
    ...(size == null ? {} : { size }),
    ...(isVoiceNote ? { isVoice: true } : {}),
  }));
  if (!sticker) return files;
  const ref = `sticker ${sticker.packId} ${sticker.stickerId}`;
  return [...files, { ref, kind: "image", name: "sticker.webp", mimeType: "image/webp" }];
}
