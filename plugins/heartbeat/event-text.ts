/** Texts of events: their length limit, and when two are equal. Pure. */
import { createHash } from "node:crypto";
import type { Origin } from "@svc/sdk";

/** Choice: characters (UTF-16 units) of one event; the middle of a longer one is cut out. */
export const MAX_EVENT_CHARS = 16_000;
/** Characters kept at the end, which may contain the closing marker of external content. */
const KEPT_AT_END = 1_000;
/** Half of a surrogate pair, which a cut may leave. */
const LONE_SURROGATE = /\p{Cs}/gu;
const MARKER_ID = /(EXTERNAL_UNTRUSTED_CONTENT\s+id=")[0-9a-f]+(")/gi;

/** The text to store: within the length limit, without characters that databases reject. */
export function storedText(text: string): string {
  const clean = text.replaceAll("\0", "").trim().replace(LONE_SURROGATE, "");
  const surplus = clean.length - MAX_EVENT_CHARS;
  if (surplus <= 0) return clean;
  const mark = `\n[cut: ${surplus} characters and more are left out here]\n`;
  const head = clean.slice(0, MAX_EVENT_CHARS - KEPT_AT_END - mark.length);
  return `${head}${mark}${clean.slice(-KEPT_AT_END)}`.replace(LONE_SURROGATE, "");
}

/** Hash of author and text, ignoring the random ids in the markers of external content. */
export function likenessOf(text: string, origin?: Origin): string {
  const author = origin === undefined ? "" : JSON.stringify(origin);
  return createHash("sha256").update(author).update(text.replace(MARKER_ID, "$1$2")).digest("hex");
}
