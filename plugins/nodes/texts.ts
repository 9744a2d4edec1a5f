/** Makes texts of nodes safe to show. Pure. */

/** Half of a character, which truncation may leave. */
const LONE_SURROGATE = /\p{Cs}/gu;

/** One line without control and bidirectional characters; `undefined` if it is empty. */
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

/** As `shownLine`, for multi-line texts, e.g. an error with its stack trace. */
export function shownText(text: string, maxChars: number): string {
  const clean = text.slice(0, maxChars).replace(/[^\P{Cc}\n\t]+|[\u202a-\u202e\u2066-\u2069]+/gu, " ");
  return clean.replace(LONE_SURROGATE, "").trim();
}
