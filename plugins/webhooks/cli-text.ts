/** Text for a terminal: columns, fields, and nothing that a terminal would obey. Pure. */

/** Control characters and those that turn the direction of writing: what comes from a sender must not steer a terminal. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const STEERING = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** One line; what steers a terminal becomes visible, e.g. `\u001b`. */
export function visible(text: string): string {
  return text.replace(STEERING, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A text as it is, anything else as JSON, on one line. */
export function valueText(value: unknown): string {
  return visible(typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined"));
}

/** At most `max` UTF-16 units, the last one "…" when something was cut. */
export function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** Columns as wide as their longest cell. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** A line a field, further lines of a text below its first; absent ones are left out. */
export function fields(entries: readonly (readonly [name: string, value: unknown])[], indent = ""): string[] {
  const present = entries.filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...present.map(([name]) => visible(name).length));
  return present.flatMap(([name, value]) => {
    const [first = "", ...rest] = typeof value === "string" ? value.split(/\r?\n/).map(visible) : [valueText(value)];
    const below = " ".repeat(width + 2);
    return [`${visible(name).padEnd(width)}  ${first}`, ...rest.map((line) => `${below}${line}`)].map((line) =>
      `${indent}${line}`.trimEnd(),
    );
  });
}

/** `1 error`, `2 errors`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** UTC, to the second. @param ms epoch ms */
export function time(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace(/\.\d+/, "");
}
