/** What a channel hands over, checked and cleaned: it may run in another thread, and its words come from a network. Pure. */
import { createHash } from "node:crypto";
import { describeViolations, invalidRequest, matches, type Static, Type } from "@svc/sdk";
import type { InboundMessage } from "@svc/sdk/channels";

/** Choice: characters of a message that are kept. */
export const MAX_TEXT_CHARS = 100_000;

/** One line without control characters: ids stand in keys and logs. */
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

/** Half a character, as a cut may leave it. */
const LONE_SURROGATE = /\p{Cs}/gu;

/** @throws GatewayError `INVALID_REQUEST` naming what is wrong with it */
export function checkedMessage(message: InboundMessage): Inbound {
  if (!matches(Inbound, message))
    return invalidRequest(`the channel handed over no message: ${describeViolations(Inbound, message)}`);
  return { ...message, text: cleanText(message.text) };
}

/** Without control characters other than tab and line break; the end of one that is too long is left out, and that is said. */
function cleanText(given: string): string {
  const clean = given
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .replace(LONE_SURROGATE, "");
  const surplus = clean.length - MAX_TEXT_CHARS;
  if (surplus <= 0) return clean;
  return `${clean.slice(0, MAX_TEXT_CHARS).replace(LONE_SURROGATE, "")}\n[${surplus} more characters are left out]`;
}

/** What the same message has in common whenever it comes. */
export function messageKey(channel: string, accountId: string, id: string): string {
  return createHash("sha256")
    .update(JSON.stringify([channel, accountId, id]))
    .digest("hex");
}
