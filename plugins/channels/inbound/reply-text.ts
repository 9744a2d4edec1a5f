/** The part of a reply that people see. Pure. Spec: http/sessions-routing.md §7.3, §10. */
import { SILENT_REPLY } from "@svc/kit/runs";
import { withoutMarkers } from "@svc/sdk/external-content";

/** Agents add this token at an edge out of habit; outside of a heartbeat it has no meaning. Spec: §7.3. */
const ACKNOWLEDGED_FIRST = /^HEARTBEAT_OK\b[.!]{0,4}/;
const ACKNOWLEDGED_LAST = /\bHEARTBEAT_OK[.!]{0,4}$/;
/** `[[reply_to_current]]`, `[[reply_to: 42]]`: directives for other surfaces. */
const DIRECTIVE = /\[\[[ \t]*[a-z]+(?:_[a-z]+)+[ \t]*(?::[^\]\n]{0,150})?\]\][ \t]*/g;

/** The text to send; `undefined` if nothing is left. */
export function shownReply(reply: string): string | undefined {
  const text = withoutMarkers(reply).replace(DIRECTIVE, "").trim();
  const spoken = text.endsWith(SILENT_REPLY) ? text.slice(0, -SILENT_REPLY.length).trim() : text;
  const shown = spoken.replace(ACKNOWLEDGED_FIRST, "").trim().replace(ACKNOWLEDGED_LAST, "").trim();
  return shown === "" ? undefined : shown;
}
