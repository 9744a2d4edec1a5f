/** Incoming messages, as the gateway has them. */
import { createHash } from "node:crypto";
import type { InboundMessage, MediaKind } from "@svc/sdk/channels";
import type { proto, WAMessage } from "@whiskeysockets/baileys";
import { isGroup, personOf } from "./address.ts";
import type { Library } from "./library.ts";

/** What is known around a message. */
export interface Scene {
  readonly library: Library;
  /** Addresses of the linked number. */
  readonly own: readonly string[];
  /** The number behind a hidden one, if it is known. */
  numberOf(lid: string): Promise<string | null>;
  /** Name of a group. */
  nameOf(group: string): Promise<string | undefined>;
  /** A message that was sent or received earlier. */
  find(id: string): Promise<WAMessage | undefined>;
}

/** What a message says, beside who wrote it. */
type Content = Pick<InboundMessage, "text" | "media" | "location" | "event">;

/** @returns `undefined` for what no person wrote, or what is of no interest */
export async function toInbound(message: WAMessage, scene: Scene): Promise<InboundMessage | undefined> {
  const { key, pushName, messageTimestamp } = message;
  const { id, remoteJid, remoteJidAlt, participant, participantAlt, fromMe } = key;
  if (!id || !remoteJid) return undefined;
  const inGroup = isGroup(remoteJid);
  const jids = inGroup ? [participant, participantAlt] : [remoteJid, remoteJidAlt];
  const person = fromMe ? scene.own[0] : await knownPerson(jids, scene);
  const content = scene.library.normalizeMessageContent(message.message);
  if (person === undefined || !content) return undefined;
  const read = await contentOf(content, message, scene);
  if (!read) return undefined;
  const context = contextOf(content);
  const at = Number(messageTimestamp) * 1_000;
  const chat = inGroup ? remoteJid : person;
  const name = inGroup ? await scene.nameOf(remoteJid) : pushName;
  const { text, mentioned } = addressed(read.text, context, scene);
  const quoted = read.event ? undefined : quoteOf(context, scene);
  return {
    id,
    chat: { type: inGroup ? "group" : "direct", id: chat, ...(name ? { name } : {}) },
    sender: { id: person, ...(pushName ? { name: pushName } : {}) },
    mentioned: !inGroup || mentioned,
    ...(at > 0 && Number.isSafeInteger(at) ? { at } : {}),
    ...read,
    text,
    ...(context.isForwarded ? { text: "", forwarded: { text } } : {}),
    ...(quoted ? { replyTo: quoted } : {}),
  };
}

/** The number of a person if it is known, because numbers are what people list in `allowFrom`. */
async function knownPerson(jids: readonly (string | null | undefined)[], scene: Scene): Promise<string | undefined> {
  const people = jids.flatMap((jid) => (jid ? (personOf(jid) ?? []) : []));
  const number = people.find((one) => !one.startsWith("lid:"));
  if (number !== undefined || people[0] === undefined) return number;
  const known = await scene.numberOf(`${people[0].slice("lid:".length)}@lid`);
  return (known ? personOf(known) : undefined) ?? people[0];
}

function contextOf(content: proto.IMessage): proto.IContextInfo {
  const parts = Object.values(content) as ({ contextInfo?: proto.IContextInfo | null } | null | undefined)[];
  return parts.find((part) => part?.contextInfo)?.contextInfo ?? {};
}

const isOwn = (jid: string | null | undefined, { own }: Scene) => own.includes(personOf(jid ?? "") ?? "");

/** The text without a leading mention of the agent, and whether there is one anywhere. */
function addressed(text: string, { mentionedJid }: proto.IContextInfo, scene: Scene) {
  const mentions = (mentionedJid ?? []).filter((jid) => isOwn(jid, scene));
  const users = mentions.map((jid) => jid.split(/[@:]/, 1)[0]);
  const user = users.find((one) => text.trimStart().startsWith(`@${one}`));
  const rest = user === undefined ? text : text.trimStart().slice(user.length + 1);
  return { text: rest.trimStart(), mentioned: mentions.length > 0 };
}

function quoteOf({ stanzaId, participant, quotedMessage }: proto.IContextInfo, scene: Scene) {
  if (!stanzaId) return undefined;
  const words = wordsOf(scene.library.normalizeMessageContent(quotedMessage) ?? {});
  return { messageId: stanzaId, isOwn: isOwn(participant, scene), ...(words === undefined ? {} : { text: words }) };
}

/** The text of a message or below its file. */
function wordsOf(content: proto.IMessage): string | undefined {
  const { conversation, extendedTextMessage, imageMessage, videoMessage, documentMessage } = content;
  return (
    conversation ??
    extendedTextMessage?.text ??
    imageMessage?.caption ??
    videoMessage?.caption ??
    documentMessage?.caption ??
    undefined
  );
}

/** The part of a message that is a file. */
export function fileOf(content: proto.IMessage) {
  const { imageMessage, stickerMessage, videoMessage, ptvMessage, audioMessage, documentMessage } = content;
  const parts: readonly [MediaKind, "image" | "sticker" | "video" | "audio" | "document", File | null | undefined][] = [
    ["image", "image", imageMessage],
    ["image", "sticker", stickerMessage],
    ["video", "video", videoMessage ?? ptvMessage],
    ["audio", "audio", audioMessage],
    ["file", "document", documentMessage],
  ];
  const [kind, type, file] = parts.find(([, , part]) => part) ?? [];
  return kind && type && file ? { kind, type, file } : undefined;
}

type File = Pick<proto.Message.IDocumentMessage, "mimetype" | "mediaKey" | "directPath" | "url" | "fileName"> & {
  readonly fileLength?: unknown;
  readonly ptt?: boolean | null;
};

async function contentOf(content: proto.IMessage, { key }: WAMessage, scene: Scene): Promise<Content | undefined> {
  const words = wordsOf(content);
  const found = fileOf(content);
  if (found) {
    const { kind, file } = found;
    const { mimetype, fileName, fileLength, ptt } = file;
    const size = Number(fileLength ?? 0);
    const media = {
      ref: key.id ?? "",
      kind,
      ...(fileName ? { name: fileName } : {}),
      ...(mimetype ? { mimeType: mimetype } : {}),
      ...(size > 0 ? { size } : {}),
      ...(ptt ? { isVoice: true } : {}),
    };
    return { text: words ?? "", media: [media] };
  }
  if (words !== undefined) return { text: words };
  const reader = READERS.find(([type]) => content[type])?.[1];
  return reader?.(content, key, scene);
}

type Reader = (
  content: proto.IMessage,
  key: WAMessage["key"],
  scene: Scene,
) => Content | undefined | Promise<Content | undefined>;

const location: Reader = ({ locationMessage, liveLocationMessage }) => {
  const place: proto.Message.ILocationMessage = locationMessage ?? liveLocationMessage ?? {};
  const { degreesLatitude: latitude, degreesLongitude: longitude, name, address } = place;
  if (typeof latitude !== "number" || typeof longitude !== "number") return undefined;
  return { text: "", location: { latitude, longitude, ...(name ? { name } : {}), ...(address ? { address } : {}) } };
};

const contacts: Reader = ({ contactMessage, contactsArrayMessage }) => {
  const cards = contactMessage ? [contactMessage] : (contactsArrayMessage?.contacts ?? []);
  const lines = cards.map(({ displayName, vcard }) => {
    const numbers = [...(vcard ?? "").matchAll(/^TEL[^:]*:(.+)$/gm)].map(([, number = ""]) => number.trim());
    return `[contact: ${[displayName, ...numbers].filter(Boolean).join(", ") || "without a name"}]`;
  });
  return { text: lines.join("\n") };
};

const question: Reader = (content) => {
  const poll = pollOf(content);
  return { text: `[poll: ${[poll?.name, ...(poll?.options ?? []).map((one) => one.optionName)].join(" | ")}]` };
};

/** The poll that a message asks. */
export const pollOf = (content: proto.IMessage) =>
  content.pollCreationMessage ?? content.pollCreationMessageV2 ?? content.pollCreationMessageV3;

const READERS: readonly [keyof proto.IMessage, Reader][] = [
  [
    "reactionMessage",
    ({ reactionMessage }) => {
      const { key, text } = reactionMessage ?? {};
      const what = text ? { emoji: text } : { emoji: "(not named)", isRemoved: true };
      const event = { kind: "reaction", messageId: key?.id ?? "", ...what, isOwn: key?.fromMe === true } as const;
      return { text: "", event };
    },
  ],
  [
    "protocolMessage",
    ({ protocolMessage }, _key, { library }) => {
      const { type, key, editedMessage } = protocolMessage ?? {};
      const { REVOKE, MESSAGE_EDIT } = library.proto.Message.ProtocolMessage.Type;
      const messageId = key?.id ?? "";
      if (type === REVOKE) return { text: "", event: { kind: "deletion", messageId } };
      const text = type === MESSAGE_EDIT ? wordsOf(library.normalizeMessageContent(editedMessage) ?? {}) : undefined;
      return text === undefined ? undefined : { text, event: { kind: "edit", messageId } };
    },
  ],
  ["pollUpdateMessage", ({ pollUpdateMessage }, key, scene) => answerOf(pollUpdateMessage ?? {}, key, scene)],
  ["pollCreationMessage", question],
  ["pollCreationMessageV2", question],
  ["pollCreationMessageV3", question],
  ["locationMessage", location],
  ["liveLocationMessage", location],
  ["contactMessage", contacts],
  ["contactsArrayMessage", contacts],
];

/** The options that somebody selected in a poll of the agent. */
async function answerOf(
  { pollCreationMessageKey, vote }: proto.Message.IPollUpdateMessage,
  { remoteJid, remoteJidAlt, participant, participantAlt }: WAMessage["key"],
  scene: Scene,
): Promise<Content | undefined> {
  const pollMsgId = pollCreationMessageKey?.id ?? "";
  const poll = await scene.find(pollMsgId);
  const pollEncKey = poll?.message?.messageContextInfo?.messageSecret;
  if (!poll?.key.fromMe || !pollEncKey || !vote) return undefined;
  const options = pollOf(poll.message ?? {})?.options ?? [];
  const voters = [participant, participantAlt, remoteJid, remoteJidAlt].flatMap((jid) => (jid ? [jid] : []));
  // People vote under their number or their hidden one, for the agent under either; only the right pair decrypts.
  for (const voterJid of voters)
    for (const pollCreatorJid of ownJids(scene)) {
      const selected = votes({ pollMsgId, pollEncKey, voterJid, pollCreatorJid }, vote, scene.library);
      if (!selected) continue;
      const names = options.map(({ optionName }) => optionName ?? "").filter((name) => selected.has(digest(name)));
      return { text: "", event: { kind: "poll-answer", pollId: pollMsgId, options: names } };
    }
  return undefined;
}

const ownJids = ({ own }: Scene) =>
  own.map((one) => (one.startsWith("lid:") ? `${one.slice("lid:".length)}@lid` : `${one}@s.whatsapp.net`));

const digest = (name: string) => createHash("sha256").update(name).digest("hex");

function votes(
  context: Parameters<Library["decryptPollVote"]>[1],
  vote: proto.Message.IPollEncValue,
  { decryptPollVote }: Library,
): ReadonlySet<string> | undefined {
  try {
    const { selectedOptions } = decryptPollVote(vote, context);
    return new Set((selectedOptions ?? []).map((one) => Buffer.from(one).toString("hex")));
  } catch {
    return undefined; // another pair
  }
}
