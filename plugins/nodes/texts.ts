/** Texts a node sends, made safe to show. Pure. */

/** Half a character, as a cut may leave it. */
const LONE_SURROGATE = /\p{Cs}/gu;

/** One line without control characters or what turns the direction of writing; `undefined` where nothing is left. */
export function shownLine(text: string | undefined, maxChars: number): string | undefined {
  if (text === undefined) return undefined;
  const line = text
    .slice(0, maxChars * 4)
    .replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, " ")
    .trim()
    .slice(0, maxChars)
    .replace(LONE_SURROGATE, "");
  return line === "" ? undefined : line;
}

/** As `shownLine`, for texts of several lines, e.g. an error with its trace. */
export function shownText(text: string, maxChars: number): string {
  const clean = text.slice(0, maxChars).replace(/[^\P{Cc}\n\t]+|[\u202a-\u202e\u2066-\u2069]+/gu, " ");
  return clean.replace(LONE_SURROGATE, "").trim();
}
