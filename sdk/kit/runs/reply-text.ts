/**
 * The deliverable part of an agent's reply that nobody reads live. Pure. Spec: http/sessions-routing.md §7.3, §10,
 * http/webhooks.md §5.6.
 */
import { cut } from "@svc/sdk/cli";
import { withoutAcknowledgement } from "./acknowledgement.ts";
import { SILENT_REPLY } from "./silence.ts";

/** Characters in addition to the acknowledgement that still count as none. Spec: `heartbeat.ackMaxChars`. */
const ACK_MAX_CHARS = 300;
/** Maximum characters of a summary. Spec: §5.6. */
export const SUMMARY_CHARS = 2_000;

/** The text to deliver; `undefined`: nothing worth sending. */
export function deliverableReply(reply: string): string | undefined {
  const text = spoken(reply);
  if (text === "") return undefined;
  const { text: rest, found } = withoutAcknowledgement(text);
  return found && rest.length <= ACK_MAX_CHARS ? undefined : rest;
}

/** The text of a reply, truncated to 2000 characters; empty for a silent one. */
export function replySummary(reply: string): string {
  return cut(spoken(reply), SUMMARY_CHARS);
}

/** The text without the silent token, which may stand alone or at the end. */
function spoken(reply: string): string {
  const text = reply.trim();
  return text.endsWith(SILENT_REPLY) ? text.slice(0, -SILENT_REPLY.length).trim() : text;
}
