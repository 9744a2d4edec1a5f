/** Messages of visitors as the gateway wants them, and addresses. Pure. */
import type { InboundMessage } from "@svc/sdk/channels";
import type { ShownMessage } from "./protocol.ts";

/** Bytes of the messages in a welcome: a socket is closed when its client leaves 1 MiB unread. */
const MAX_WELCOME_BYTES = 400_000;

/** The visitor is both the person and the chat. */
export function inboundOf(
  visitor: string,
  { id, text, at }: ShownMessage,
  event?: InboundMessage["event"],
): InboundMessage {
  return {
    // Other visitors may choose the same id.
    id: `${visitor}:${id}`,
    messageId: id,
    chat: { type: "direct", id: visitor },
    sender: { id: visitor },
    text,
    at,
    ...(event ? { event } : {}),
  };
}

/** The id of a visitor, alone or after `user:`. */
export function addressOf(text: string, known: Iterable<string>): string | undefined {
  const id = text
    .trim()
    .replace(/^user:/, "")
    .toLowerCase();
  return /^[0-9a-f]{32}$/.test(id) || new Set(known).has(id) ? id : undefined;
}

/** The newest of the messages that one text to the client can carry. */
export function newestThatFit(messages: readonly ShownMessage[]): readonly ShownMessage[] {
  let bytes = 0;
  const first = messages.findLastIndex(
    (message) => (bytes += Buffer.byteLength(JSON.stringify(message))) > MAX_WELCOME_BYTES,
  );
  return messages.slice(first + 1);
}
