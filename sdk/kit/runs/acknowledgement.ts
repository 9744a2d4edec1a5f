/** The token with which an agent says that nothing needs attention. Pure. Spec: http/sessions-routing.md §7.3. */
import type { Acknowledged, AcknowledgementRule } from "@svc/sdk/agents";
import { SILENT_REPLY } from "./silence.ts";

/** Recognized at the start and end of an answer only. */
export const ACKNOWLEDGEMENT = "HEARTBEAT_OK";

/** HTML tags and Markdown signs for bold, code and the like. */
const DECORATION = String.raw`(?:<\/?[a-z][^<>]{0,40}>|[*_~\x60\s])*`;
const WORD = `(?<![a-z0-9]_?)${ACKNOWLEDGEMENT}(?![a-z0-9])`;
const MARKS = String.raw`[^\w\s<]{0,4}`;
const AT_START = new RegExp(`^${DECORATION}${WORD}${DECORATION}${MARKS}`, "i");
const AT_END = new RegExp(`${DECORATION}${WORD}${DECORATION}${MARKS}${DECORATION}$`, "i");
/** Choice: characters at the end that are searched for the token; the search is quadratic in them. */
const TAIL_CHARS = 200;

/** The text without the token at its start and end, trimmed. `found`: the token was present. */
export function withoutAcknowledgement(text: string): { readonly text: string; readonly found: boolean } {
  const whole = text.trim();
  const begun = whole.replace(AT_START, "");
  const tailAt = Math.max(0, begun.length - TAIL_CHARS);
  const rest = begun.slice(0, tailAt) + begun.slice(tailAt).replace(AT_END, "");
  return { text: rest.trim(), found: rest !== whole };
}

/** Classifies an answer: the alert to send, or why there is none. */
export function acknowledged(
  answer: string,
  { maxChars, repeats }: AcknowledgementRule,
): { readonly alert: string } | { readonly nothing: Acknowledged } {
  const said = answer.trim();
  if (said === "" || said === SILENT_REPLY) return { nothing: "empty" };
  const { text, found } = withoutAcknowledgement(said);
  if (found && text.length <= maxChars) return { nothing: "token" };
  return text === repeats?.trim() ? { nothing: "duplicate" } : { alert: text };
}
