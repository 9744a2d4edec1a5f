/** Text for a terminal: columns, and nothing that a terminal would obey. Pure. */

/** Control characters, those that turn the direction of writing, and those that cannot be seen. */
const STEERING = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/**
 * One line of what others wrote: what steers a terminal or cannot be seen becomes visible, e.g. `\u001b`. Line feeds
 * and tabs too; split before, where they are meant.
 */
export function visible(text: string): string {
  return text.replace(STEERING, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
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
