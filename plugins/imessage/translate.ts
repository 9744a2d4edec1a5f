/** Messages as BlueBubbles and imsg show them, converted to incoming messages; and addresses. Pure. */
import { mediaKindOf } from "@svc/kit/channels";
import { matches, type TSchema, Type } from "@svc/sdk";
import type { InboundMessage } from "@svc/sdk/channels";
import { tapbackNamed } from "./tapbacks.ts";

/** Older messages are ignored: they came while the gateway or the Mac was off for long. */
export const MAX_AGE_MS = 24 * 60 * 60 * 1_000;

/** A row of the Messages database. */
export interface Received {
  readonly guid: string;
  readonly row: number;
  /** Row after which to continue, if it is another one than `row`. */
  readonly cursor?: number;
  readonly chatGuid: string;
  /** Nobody else wrote it: it is a message of this account, or e.g. the new name of a group. */
  readonly isOwn: boolean;
  /** The row as a new message. */
  readonly message: InboundMessage;
  /** Id of the message that it answers or reacts to. */
  readonly about?: string;
  /** epoch ms */
  readonly editedAt?: number;
  readonly isRetracted: boolean;
}

/** Keys that may be absent or `null`. */
function maybe<K extends string, S extends TSchema>(schema: S, ...keys: readonly K[]) {
  const one = Type.Optional(Type.Union([schema, Type.Null()]));
  return Object.fromEntries(keys.map((key) => [key, one])) as Record<K, typeof one>; // the keys are those given
}
const Text = Type.String();
const Id = Type.String({ minLength: 1 });

const BlueBubblesFile = Type.Object({
  guid: Id,
  ...maybe(Text, "transferName", "mimeType"),
  ...maybe(Type.Number(), "totalBytes"),
  ...maybe(Type.Boolean(), "hideAttachment"),
});

const BlueBubblesMessage = Type.Object({
  guid: Id,
  originalROWID: Type.Integer(),
  isFromMe: Type.Boolean(),
  chats: Type.Array(Type.Object({ guid: Id, ...maybe(Type.Number(), "style"), ...maybe(Text, "displayName") })),
  ...maybe(Type.Array(BlueBubblesFile), "attachments"),
  ...maybe(Type.Object({ address: Text }), "handle"),
  ...maybe(Type.Union([Text, Type.Number()]), "associatedMessageType"),
  ...maybe(Text, "text", "associatedMessageGuid", "associatedMessageEmoji", "threadOriginatorGuid"),
  ...maybe(Type.Number(), "dateCreated", "dateEdited", "dateRetracted", "itemType"),
  ...maybe(Type.Boolean(), "isAudioMessage"),
});

/** A value without the keys that are absent, `null` or empty. */
type Given<T> = { readonly [K in keyof T]?: NonNullable<T[K]> };
function given<T extends object>(values: T): Given<T> {
  const isGiven = ([, value]: [string, unknown]) => value !== undefined && value !== null && value !== "";
  return Object.fromEntries(Object.entries(values).filter(isGiven)) as Given<T>; // only keys were removed
}

/** `chat.style` of a group in the Messages database. */
const GROUP_STYLE = 43;

/** A message of BlueBubbles. `undefined`: it is malformed. */
export function fromBlueBubbles(raw: unknown, senderName?: string): Received | undefined {
  if (!matches(BlueBubblesMessage, raw)) return undefined;
  const { guid, text, isFromMe, dateCreated: at, dateEdited: editedAt, threadOriginatorGuid: answered } = raw;
  const chat = raw.chats[0] ?? { guid: "" };
  const isGroup = chat.style === GROUP_STYLE || chat.guid.includes(";+;");
  const sender = raw.handle?.address.toLowerCase() ?? "";
  const type = String(raw.associatedMessageType ?? "");
  const target = raw.associatedMessageGuid?.replace(/^b?p:(?:\d+\/)?/, ""); // `p:0/` and `bp:` name a part of the message
  const tapback = target ? tapbackNamed(type, raw.associatedMessageEmoji ?? undefined) : undefined;
  // Names of groups and people who join are rows, too; so are stickers on a message, and unknown tapbacks.
  const isNotice = (raw.itemType ?? 0) !== 0 || chat.guid === "" || (!tapback && /^-?[a-z]|^[23]\d{3}$/.test(type));
  const media = (raw.attachments ?? [])
    .filter(({ hideAttachment }) => hideAttachment !== true)
    .map(({ guid: ref, transferName: name, mimeType, totalBytes: size }) => {
      const isVoice = raw.isAudioMessage === true ? true : undefined;
      return { ref, kind: mediaKindOf(mimeType ?? ""), ...given({ name, mimeType, size, isVoice }) };
    });
  const message = {
    id: guid,
    messageId: tapback && target ? target : guid,
    chat: {
      type: isGroup ? ("group" as const) : ("direct" as const),
      id: isGroup ? `chat:${chat.guid}` : sender,
      ...given({ name: isGroup ? chat.displayName : senderName }),
    },
    sender: { id: sender, ...given({ name: senderName }) },
    text: tapback ? "" : (text ?? "").replaceAll("\uFFFC", "").trim(), // the mark of a file
    ...(tapback || media.length === 0 ? {} : { media }),
    ...(tapback && target ? { event: { kind: "reaction" as const, messageId: target, ...tapback } } : {}),
    ...given({ at }),
  };
  return {
    guid,
    row: raw.originalROWID,
    chatGuid: chat.guid,
    isOwn: isFromMe || isNotice || sender === "",
    message,
    isRetracted: Boolean(raw.dateRetracted),
    ...given({ editedAt, about: tapback ? target : answered }),
  };
}

/** A message of imsg, which has other names for the same facts. `undefined`: it is malformed. */
export function fromImsg(raw: unknown): Received | undefined {
  const row = Object(raw) as Readonly<Record<string, unknown>>; // the outcome is checked
  const isReaction = row["is_reaction"] === true;
  const { cursor, attachments } = row;
  const received = fromBlueBubbles(
    {
      guid: row["guid"],
      originalROWID: row["id"],
      isFromMe: row["is_from_me"],
      chats: [
        { guid: row["chat_guid"], style: row["is_group"] === true ? GROUP_STYLE : 0, displayName: row["chat_name"] },
      ],
      handle: { address: row["sender"] ?? "" },
      text: row["text"],
      dateCreated: Date.parse(String(row["created_at"])) || null,
      threadOriginatorGuid: row["thread_originator_guid"] ?? row["reply_to_guid"],
      associatedMessageGuid: isReaction ? row["reacted_to_guid"] : null,
      associatedMessageType: isReaction
        ? `${row["is_reaction_add"] === false ? "-" : ""}${String(row["reaction_type"])}`
        : null,
      associatedMessageEmoji: row["reaction_emoji"] || null,
      attachments: (Array.isArray(attachments) ? attachments : []).map(fileOfImsg),
    },
    typeof row["sender_name"] === "string" ? row["sender_name"] : undefined,
  );
  return received && { ...received, ...(typeof cursor === "number" ? { cursor } : {}) };
}

function fileOfImsg(raw: unknown) {
  const file = Object(raw) as Readonly<Record<string, unknown>>; // the outcome is checked
  return {
    guid: file["original_path"] || file["path"] || "-",
    transferName: file["transfer_name"],
    mimeType: file["mime_type"],
    totalBytes: file["total_bytes"] ?? file["byte_size"],
    hideAttachment: file["missing"],
  };
}

/** A message, or its edit or deletion. The id is the same for each arrival. @param isKnown the gateway has the message */
export function toInbound(received: Received, isKnown: boolean, original?: Received): InboundMessage {
  const { guid, about, editedAt, isRetracted } = received;
  const { media, ...message } = received.message;
  const isOwn = original?.isOwn === true;
  if (message.event?.kind === "reaction") return { ...message, event: { ...message.event, isOwn } };
  if (isKnown && isRetracted)
    return { ...message, id: `${guid}:deleted`, text: "", event: { kind: "deletion", messageId: guid } };
  const text = original?.message.text;
  return {
    ...message,
    ...given({ media }),
    ...(about === undefined ? {} : { replyTo: { messageId: about, isOwn, ...given({ text }) } }),
    ...(isKnown && editedAt !== undefined
      ? { id: `${guid}:edit:${editedAt}`, event: { kind: "edit", messageId: guid }, at: editedAt }
      : {}),
  };
}

/** The part of a direct chat's guid after `;-;` is the address of the person. */
const GUID = /^[a-z]+;([-+]);(\S+)$/i;

/**
 * An address as people write it: a phone number, an e-mail address, or `chat:<guid>` for a group.
 * @returns `undefined`: not an address
 */
export function addressOf(entered: string): string | undefined {
  const written = entered.trim().replace(/^(?:imessage|sms|user|tel|mailto):/i, "");
  const [, prefix, rest = ""] = /^(chat(?:_guid)?:)?(.*)$/is.exec(written) ?? [];
  const [, mark, person = ""] = GUID.exec(rest) ?? [];
  if (mark === "+") return `chat:${rest}`;
  if (mark === undefined && prefix !== undefined) return undefined;
  const address = (mark === "-" ? person : rest).trim().toLowerCase();
  if (/^[^\s@:;]+@[^\s@:;]+\.[^\s@:;]+$/.test(address)) return address;
  const digits = address.replace(/[\s().-]/g, "");
  return /^\+?\d{3,15}$/.test(digits) ? digits : undefined;
}

/** Guid of the chat if the address is a group. */
export const groupOf = (to: string) => (to.startsWith("chat:") ? to.slice("chat:".length) : undefined);
