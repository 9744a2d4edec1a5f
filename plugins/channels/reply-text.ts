/** What of a reply people get to see. Pure. Spec: http/sessions-routing.md §7.3, §10. */
import { SILENT_REPLY } from "@svc/kit/runs";
import { withoutMarkers } from "@svc/sdk/external-content";

/** Out of habit at an edge; outside of a heartbeat it says nothing. Spec: §7.3. */
const ACKNOWLEDGED_FIRST = /^HEARTBEAT_OK\b[.!]{0,4}/;
const ACKNOWLEDGED_LAST = /\bHEARTBEAT_OK[.!]{0,4}$/;
/** `[[reply_to_current]]`, `[[reply_to: 42]]`: for surfaces that know them. */
const DIRECTIVE = /\[\[[ \t]*[a-z]+(?:_[a-z]+)+[ \t]*(?::[^\]\n]{0,150})?\]\][ \t]*/g;

/** The text to send; `undefined`: there is nothing to say. */
export function shownReply(reply: string): string | undefined {
  const text = withoutMarkers(reply).replace(DIRECTIVE, "").trim();
  const spoken = text.endsWith(SILENT_REPLY) ? text.slice(0, -SILENT_REPLY.length).trim() : text;
  const shown = spoken.replace(ACKNOWLEDGED_FIRST, "").trim().replace(ACKNOWLEDGED_LAST, "").trim();
  return shown === "" ? undefined : shown;
}
