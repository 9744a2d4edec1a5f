/**
 * The visible part of an agent's text: removes directive tags, detects the silent reply. Pure.
 *
 * A directive tag is `[[name]]` or `[[name: value]]` where the name has at least two lower-case words joined by
 * `_`, such as `[[reply_to_current]]` or `[[reply_to: 42]]`. Choice: this shape, because the facts give no list;
 * wiki links, nested arrays and shell tests do not have it.
 */
import { readSpeechTags, SILENT_REPLY } from "@svc/kit/runs";
import { withoutMarkers } from "@svc/sdk/external-content";

/** Maximum number of characters between the brackets of a tag, and of characters withheld of an unfinished tag. */
const TAG_CHARS = 150;
const BOUND = String.raw`(?=[^\]\n]{1,${TAG_CHARS}}\]\])`;
const TAG = String.raw`\[\[${BOUND}[ \t]*[a-z]+(?:_[a-z]+)+[ \t]*(?::[^\]\n]*)?\]\]`;
const LEADING_TAGS = new RegExp(String.raw`^\s*(?:${TAG}\s*)+`);
const INNER_TAG = new RegExp(String.raw`${TAG}[ \t]*`, "g");
/** The beginning of a tag, or of a marker around external content. */
const UNFINISHED = new RegExp(
  String.raw`(?:\[(?:\[[^\]\n]{0,${TAG_CHARS}}\]?)?|<{1,2}|<<<(?:E[A-Z_]{0,30}[^<>\n]{0,80}>{0,2})?)$`,
);

/** `text` without directive tags, and without white space around leading tags. */
export function withoutDirectives(text: string): string {
  if (!text.includes("[[")) return text;
  return text.replace(LEADING_TAGS, "").replace(INNER_TAG, "");
}

/** The visible part of a reply: also without the markers around external content, which models sometimes repeat. */
export function replyText(text: string): string {
  return withoutDirectives(withoutSpeech(text.includes("<<<") ? withoutMarkers(text) : text, false));
}

/** Without tags for speech; the words to speak, if there are no others. */
function withoutSpeech(text: string, isGrowing: boolean): string {
  if (!text.includes("[[")) return text;
  const { shown, spoken = "", isTagged } = readSpeechTags(text, { isGrowing });
  if (!isTagged) return shown;
  return shown.trim() === "" && !isGrowing ? spoken : shown;
}

/**
 * As `replyText`, for a text that is still growing: withholds an end that may become a tag, so that the visible
 * text never shrinks. Spec: protocol/clients.md §3 ("text must not shrink").
 */
export function growingText(text: string): string {
  const whole = text.replace(UNFINISHED, "");
  return withoutDirectives(withoutSpeech(whole.includes("<<<") ? withoutMarkers(whole) : whole, true));
}

/** Whether the whole text is the silent reply. */
export function isSilent(text: string): boolean {
  return text.trim() === SILENT_REPLY;
}

/** Whether the text may still become the silent reply: it is a leading part of it. Spec: protocol/events.md §4. */
export function mayBecomeSilent(text: string): boolean {
  const trimmed = text.trim();
  return trimmed !== "" && SILENT_REPLY.startsWith(trimmed);
}
