/** Validates and cleans a message from a channel: the channel may run in another thread, and the text is untrusted. Pure. */
import { createHash } from "node:crypto";
import { describeViolations, invalidRequest, matches, type Static, Type } from "@svc/sdk";
import type { InboundMessage } from "@svc/sdk/channels";

/** Choice: maximum number of characters of a message. */
export const MAX_TEXT_CHARS = 100_000;

/** One line without control characters, because ids are used in keys and logs. */
const Line = Type.String({ minLength: 1, maxLength: 512, pattern: "^[^\\u0000-\\u001f\\u007f\\u2028\\u2029]+$" });
const text = Type.Optional(Type.String());

const Inbound = Type.Object({
  id: Type.Optional(Type.String({ minLength: 1 })),
  chat: Type.Object({
    type: Type.Enum(["direct", "group"]),
    id: Line,
    name: text,
    threadId: Type.Optional(Line),
  }),
  sender: Type.Object({ id: Line, name: text }),
  text: Type.String(),
  mentioned: Type.Optional(Type.Boolean()),
  at: Type.Optional(Type.Number()),
});
export type Inbound = Static<typeof Inbound>;

/** Half of a surrogate pair, as a cut may leave it. */
const LONE_SURROGATE = /\p{Cs}/gu;

/** @throws GatewayError `INVALID_REQUEST` naming the fault */
export function checkedMessage(message: InboundMessage): Inbound {
  if (!matches(Inbound, message))
    return invalidRequest(`the channel passed an invalid message: ${describeViolations(Inbound, message)}`);
  return { ...message, text: cleanText(message.text) };
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
