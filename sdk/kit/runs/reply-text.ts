/** What there is to pass on of a reply of an agent that nobody reads along with. Pure. Spec: http/sessions-routing.md §7.3, §10, http/webhooks.md §5.6. */
import { cut } from "@svc/sdk/cli";
import { withoutAcknowledgement } from "./acknowledgement.ts";
import { SILENT_REPLY } from "./silence.ts";

/** Characters beside the acknowledgement that still count as little. Spec: `heartbeat.ackMaxChars`. */
const ACK_MAX_CHARS = 300;
/** Characters of a summary. Spec: §5.6. */
export const SUMMARY_CHARS = 2_000;

/** The text to deliver; `undefined`: there is nothing anybody needs to hear. */
export function deliverableReply(reply: string): string | undefined {
  const text = spoken(reply);
  if (text === "") return undefined;
  const { text: rest, found } = withoutAcknowledgement(text);
  return found && rest.length <= ACK_MAX_CHARS ? undefined : rest;
}

/** The words of a reply, cut at 2000 characters; empty for a silent one. */
export function replySummary(reply: string): string {
  return cut(spoken(reply), SUMMARY_CHARS);
}

/** Without the silent token, which may stand alone or at the end. */
function spoken(reply: string): string {
  const text = reply.trim();
  return text.endsWith(SILENT_REPLY) ? text.slice(0, -SILENT_REPLY.length).trim() : text;
}
