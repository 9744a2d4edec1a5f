/** Text for a terminal: columns, and escaping of everything a terminal would interpret. Pure. */

/**
 * Control characters, characters that change the writing direction, and invisible ones (Unicode
 * `Default_Ignorable_Code_Point`, including tags and variation selectors). Within an emoji, joiners and selectors are
 * visible: the first group preserves them.
 */
const STEERING =
  /((?<=\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})?)\u200d(?=\p{Extended_Pictographic})|(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f])|[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/gu;
const STEERING_IN_LINES = new RegExp(STEERING.source.replace("\\p{Cc}", "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"), "gu");

/** Characters above 16 bits are escaped as two halves, which mean the same character in JSON. */
const escaped = (char: string, kept?: string) =>
  kept ??
  Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

/**
 * One line of untrusted text: characters that control a terminal or are invisible are escaped, e.g. `\u001b`. Line
 * feeds and tabs are escaped, too; split the text first if they are intended.
 */
export function visible(text: string): string {
  return text.replace(STEERING, escaped);
}

/** Like `visible`, for several lines: line feeds and tabs stay. JSON text keeps its meaning. */
export function visibleLines(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(STEERING_IN_LINES, escaped);
}

/** Truncates to `max` UTF-16 units, ending in `mark` if truncated. Never splits a character. */
export function cut(text: string, max: number, mark: string = "…"): string {
  return text.length <= max ? text : text.slice(0, max - mark.length).replace(/[\uD800-\uDBFF]$/, "") + mark;
}

/** One line per row; columns are as wide as their longest cell, separated by two spaces. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** UTC with seconds, e.g. `2026-01-31 12:00:00Z`; the number itself if it is not a valid time. @param ms epoch ms */
export function time(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString().replace("T", " ").replace(/\.\d+/, "");
}
