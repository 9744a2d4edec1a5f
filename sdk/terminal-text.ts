/** Text for a terminal: columns, and nothing that a terminal would obey. Pure. */

/**
 * Control characters, those that turn the direction of writing, and those that cannot be seen (Unicode `Default_Ignorable_Code_Point`, tags
 * and variation selectors included). Within a picture, e.g. of a family, joiners and selectors are seen: the first group keeps them.
 */
const STEERING =
  /((?<=\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})?)\u200d(?=\p{Extended_Pictographic})|(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f])|[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/gu;
const STEERING_IN_LINES = new RegExp(STEERING.source.replace("\\p{Cc}", "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"), "gu");

/** Beyond 16 bits as the two halves: in JSON text they mean the same character. */
const escaped = (char: string, kept?: string) =>
  kept ??
  Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

/**
 * One line of what others wrote: what steers a terminal or cannot be seen becomes visible, e.g. `\u001b`. Line feeds
 * and tabs too; split before, where they are meant.
 */
export function visible(text: string): string {
  return text.replace(STEERING, escaped);
}

/** As `visible`, for several lines: line feeds and tabs stay. Of JSON text the meaning stays. */
export function visibleLines(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(STEERING_IN_LINES, escaped);
}

/** At most `max` UTF-16 units, `mark` at the end when something was cut. Never cuts a character in two. */
export function cut(text: string, max: number, mark: string = "…"): string {
  return text.length <= max ? text : text.slice(0, max - mark.length).replace(/[\uD800-\uDBFF]$/, "") + mark;
}

/** A line a row; columns as wide as their longest cell, two spaces between them. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** UTC, to the second, e.g. `2026-01-31 12:00:00Z`; the number where it is no time. @param ms epoch ms */
export function time(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString().replace("T", " ").replace(/\.\d+/, "");
}
