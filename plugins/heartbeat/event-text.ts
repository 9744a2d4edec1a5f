/** Texts of events: how long they may be, and which two say the same. Pure. */
import { createHash } from "node:crypto";
import type { Origin } from "@svc/sdk";

/** Choice: characters (UTF-16 units) of one event; the middle of a longer one is cut out. */
export const MAX_EVENT_CHARS = 16_000;
/** The end stays too: the marker that closes a text from outside stands there. */
const KEPT_AT_END = 1_000;
/** Half a character, as a cut may leave it. */
const LONE_SURROGATE = /\p{Cs}/gu;
const MARKER_ID = /(EXTERNAL_UNTRUSTED_CONTENT\s+id=")[0-9a-f]+(")/gi;

/** As it is stored: no longer than allowed, without characters a database refuses. */
export function storedText(text: string): string {
  const clean = text.replaceAll("\0", "").trim().replace(LONE_SURROGATE, "");
  const surplus = clean.length - MAX_EVENT_CHARS;
  if (surplus <= 0) return clean;
  const mark = `\n[cut: ${surplus} characters and more are left out here]\n`;
  const head = clean.slice(0, MAX_EVENT_CHARS - KEPT_AT_END - mark.length);
  return `${head}${mark}${clean.slice(-KEPT_AT_END)}`.replace(LONE_SURROGATE, "");
}

/** Equal for texts of the same author that say the same: the random ids of the markers around a text from outside do not count. */
export function likenessOf(text: string, origin?: Origin): string {
  const author = origin === undefined ? "" : JSON.stringify(origin);
  return createHash("sha256").update(author).update(text.replace(MARKER_ID, "$1$2")).digest("hex");
}
