/** Text for a terminal: columns, and nothing that a terminal would obey. Pure. */

/** Control characters and those that turn the direction of writing: what a device says of itself must not steer a terminal. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const STEERING = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
/** Choice: characters of a name or address in a column. */
const MAX_CELL = 40;

/** One line; what steers a terminal or cannot be seen becomes visible, e.g. `\u001b`. */
export function visible(text: string): string {
  return text.replace(STEERING, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** `visible`, and no longer than a column; blank is `-`. */
export function cell(text: string | undefined): string {
  const shown = visible(text?.trim() ?? "");
  if (shown === "") return "-";
  return shown.length <= MAX_CELL ? shown : `${shown.slice(0, MAX_CELL - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** Columns as wide as their longest cell. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** `a, b`, or `none`. */
export function listed(texts: readonly string[] | undefined): string {
  return texts === undefined || texts.length === 0 ? "none" : texts.map(visible).join(", ");
}

/** UTC, to the second. @param ms epoch ms */
export function time(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace(/\.\d+/, "");
}
