/** An agent's identity: reads and writes the lines of `IDENTITY.md`. Pure. */
import type { Identity } from "./directory.ts";

/** Choice: longer lines are ignored as prose. */
const MAX_LINE = 4_096;

const FIELDS = ["name", "theme", "emoji", "avatar"] as const;
type Field = (typeof FIELDS)[number];

/**
 * Reads fields from lines such as `- **Name:** Ada`. The last line of a field wins, since new lines are appended.
 * Choice: text in brackets is a placeholder, not a value.
 */
export function parseIdentity(text: string): Identity {
  const found: Partial<Record<Field, string>> = {};
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line.length > MAX_LINE) continue;
    const [, label = "", rest = ""] = /^[\s>*_-]*([A-Za-z]+)[*_\s]*:(.*)$/.exec(line) ?? [];
    const field = FIELDS.find((name) => name === label.toLowerCase());
    const value = rest.replace(/^[\s*_]+|[\s*_]+$/g, "");
    if (field && value !== "" && !/^[([<].*[)\]>]$/.test(value)) found[field] = value;
  }
  return found;
}

/**
 * Appends lines for the fields that `text` does not have with the same value.
 * @returns `undefined` when it has all of them, so that a repeated creation appends nothing twice
 */
export function withIdentity(text: string, identity: Identity): string | undefined {
  const said = parseIdentity(text);
  const lines = FIELDS.flatMap((field) => {
    const value = identity[field];
    if (value === undefined || said[field] === value) return [];
    return [`- ${field.charAt(0).toUpperCase()}${field.slice(1)}: ${value}`];
  });
  if (lines.length === 0) return undefined;
  const gap = text === "" || text.endsWith("\n") ? "" : "\n";
  return `${text}${gap}${lines.join("\n")}\n`;
}

/** Configured fields; missing ones come from the workspace file. */
export function mergeIdentity(configured: Identity | undefined, file: Identity): Identity {
  const entries = FIELDS.map((field) => [field, configured?.[field]?.trim() || file[field]]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Identity; // the keys are FIELDS
}
