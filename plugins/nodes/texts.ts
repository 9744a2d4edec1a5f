/** Texts and values a node sends, made safe to show. Pure. */

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

/** The part of `value` that is an object with keys; anything else has none. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value)); // own keys only
}

/** Text under `key`, trimmed; `undefined` for what is none, or is blank. */
export function textField(fields: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}
