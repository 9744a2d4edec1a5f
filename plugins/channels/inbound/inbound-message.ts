/** Validates and cleans a message from a channel: the channel may run in another thread, and the text is untrusted. Pure. */
import { createHash } from "node:crypto";
import { describeViolations, invalidRequest, matches, type Static, Type } from "@svc/sdk";
import type { ChannelAccount, ChannelCapabilities, InboundMessage } from "@svc/sdk/channels";

/** Choice: maximum number of characters of a message. */
export const MAX_TEXT_CHARS = 100_000;

/** One line without control characters, because ids are used in keys and logs. */
const Line = Type.String({ minLength: 1, maxLength: 512, pattern: "^[^\\u0000-\\u001f\\u007f\\u2028\\u2029]+$" });
const text = Type.Optional(Type.String());
const flag = Type.Optional(Type.Boolean());

/** Choice: maximum number of files of a message; further ones are not read. */
export const MAX_FILES = 20;
/** Choice: maximum number of characters of a quoted text. */
const MAX_QUOTED_CHARS = 4_000;

const File = Type.Object({
  ref: Type.String({ minLength: 1, maxLength: 2_000 }),
  kind: Type.Enum(["image", "audio", "video", "file"]),
  name: text,
  mimeType: text,
  size: Type.Optional(Type.Number()),
  isVoice: flag,
});

const Event = Type.Union([
  Type.Object({ kind: Type.Literal("edit"), messageId: Line }),
  Type.Object({ kind: Type.Literal("deletion"), messageId: Line }),
  Type.Object({ kind: Type.Literal("reaction"), messageId: Line, emoji: Line, isRemoved: flag, isOwn: flag }),
  Type.Object({ kind: Type.Literal("button"), messageId: Type.Optional(Line), value: Line }),
  Type.Object({ kind: Type.Literal("poll-answer"), pollId: Line, options: Type.Array(Type.String()) }),
]);

const Inbound = Type.Object({
  id: Type.Optional(Type.String({ minLength: 1 })),
  messageId: Type.Optional(Line),
  chat: Type.Object({
    type: Type.Enum(["direct", "group"]),
    id: Line,
    name: text,
    threadId: Type.Optional(Line),
    parentId: Type.Optional(Line),
    guildId: Type.Optional(Line),
    teamId: Type.Optional(Line),
  }),
  sender: Type.Object({ id: Line, name: text, roles: Type.Optional(Type.Array(Line)) }),
  text: Type.String(),
  mentioned: flag,
  media: Type.Optional(Type.Array(File)),
  replyTo: Type.Optional(Type.Object({ messageId: Line, text, senderName: text, isOwn: flag })),
  forwarded: Type.Optional(Type.Object({ text: Type.String(), from: text })),
  location: Type.Optional(
    Type.Object({ latitude: Type.Number(), longitude: Type.Number(), name: text, address: text }),
  ),
  event: Type.Optional(Event),
  at: Type.Optional(Type.Number()),
});
export type Inbound = Static<typeof Inbound>;

/** The account that a message came from. */
export interface Source {
  readonly channel: string;
  readonly label: string;
  readonly capabilities: Pick<ChannelCapabilities, "maxTextChars" | "markup" | "ownSessions">;
  readonly account: ChannelAccount;
}

/** Half of a surrogate pair, as a cut may leave it. */
const LONE_SURROGATE = /\p{Cs}/gu;

/** @throws GatewayError `INVALID_REQUEST` naming the fault */
export function checkedMessage(message: InboundMessage): Inbound {
  if (!matches(Inbound, message))
    return invalidRequest(`the channel passed an invalid message: ${describeViolations(Inbound, message)}`);
  const { media, replyTo, forwarded } = message;
  return {
    ...message,
    text: cleanText(message.text),
    ...(media && { media: media.slice(0, MAX_FILES) }),
    ...(replyTo?.text === undefined
      ? {}
      : { replyTo: { ...replyTo, text: cleanText(replyTo.text).slice(0, MAX_QUOTED_CHARS) } }),
    ...(forwarded && { forwarded: { ...forwarded, text: cleanText(forwarded.text) } }),
  };
}

/** Removes control characters except tab and line break; cuts a text that is too long, and appends a note. */
function cleanText(given: string): string {
  const clean = given
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .replace(LONE_SURROGATE, "");
  const surplus = clean.length - MAX_TEXT_CHARS;
  if (surplus <= 0) return clean;
  return `${clean.slice(0, MAX_TEXT_CHARS).replace(LONE_SURROGATE, "")}\n[${surplus} more characters are left out]`;
}

/** The same key for every delivery of the same message. */
export function messageKey(channel: string, accountId: string, id: string): string {
  return createHash("sha256")
    .update(JSON.stringify([channel, accountId, id]))
    .digest("hex");
}
