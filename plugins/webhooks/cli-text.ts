/** Formats values and fields for a terminal. Pure. */
import { visible } from "@svc/sdk/cli";

/** A string unchanged, anything else as JSON, on one line. */
export function valueText(value: unknown): string {
  return visible(typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined"));
}

/** One line per field; further lines of a text are indented below its first. Absent fields are left out. */
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
