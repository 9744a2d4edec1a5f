/** The part of a reply that people see. Pure. Spec: http/sessions-routing.md §7.3, §10. */
import { readSpeechTags, SILENT_REPLY } from "@svc/kit/runs";
import { withoutMarkers } from "@svc/sdk/external-content";

/** Agents add this token at an edge out of habit; outside of a heartbeat it has no meaning. Spec: §7.3. */
const ACKNOWLEDGED_FIRST = /^HEARTBEAT_OK\b[.!]{0,4}/;
const ACKNOWLEDGED_LAST = /\bHEARTBEAT_OK[.!]{0,4}$/;
/** `[[reply_to_current]]`, `[[reply_to: 42]]`: directives for other surfaces. */
const DIRECTIVE = /\[\[[ \t]*[a-z]+(?:_[a-z]+)+[ \t]*(?::[^\]\n]{0,150})?\]\][ \t]*/g;

/**
 * The text to send, without tags for speech; the words to speak, if the reply has only those. `undefined` if nothing is left.
 * @param options.isGrowing the reply may continue: words to speak are withheld, so that the text does not shrink
 */
export function shownReply(reply: string, options: { readonly isGrowing?: boolean } = {}): string | undefined {
  const tagged = taggedReply(reply);
  if (tagged === undefined) return undefined;
  const { shown, spoken } = readSpeechTags(tagged, options);
  return shown.trim() || (options.isGrowing === true ? undefined : spoken);
}

/** As `shownReply`, with tags for speech. */
export function taggedReply(reply: string): string | undefined {
  const text = withoutMarkers(reply).replace(DIRECTIVE, "").trim();
  const spoken = text.endsWith(SILENT_REPLY) ? text.slice(0, -SILENT_REPLY.length).trim() : text;
  const shown = spoken.replace(ACKNOWLEDGED_FIRST, "").trim().replace(ACKNOWLEDGED_LAST, "").trim();
  return shown === "" ? undefined : shown;
}
