/** The values in which two configurations differ. Pure. */
import { isDeepStrictEqual } from "node:util";
import { type Path, valueAt } from "./path.ts";

export interface Difference {
  readonly path: Path;
  /** `undefined`: not set on that side. */
  readonly left: unknown;
  readonly right: unknown;
}

/** Compares objects key by key and other values as a whole; keys in alphabetical order. */
export function differences(left: unknown, right: unknown, path: Path = []): Difference[] {
  if (isDeepStrictEqual(left, right)) return [];
  if (!isObject(left) || !isObject(right)) return [{ path, left, right }];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort();
  return keys.flatMap((key) => differences(valueAt(left, [key]), valueAt(right, [key]), [...path, key]));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** One line for each side; a single line if the value is hidden on both sides. */
export function describeDifference({ left, right }: Difference, names: readonly [string, string]): string[] {
  if (isDeepStrictEqual(left, right)) return [`  hidden values differ (${names[0]}, ${names[1]})`];
  const width = Math.max(names[0].length, names[1].length);
  const line = (name: string, value: unknown) =>
    `  ${name.padEnd(width)}  ${value === undefined ? "(not set)" : JSON.stringify(value)}`;
  return [line(names[0], left), line(names[1], right)];
}
