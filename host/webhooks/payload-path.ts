/**
 * Places in a payload as templates and conditions name them, e.g. `pull_request.labels[0].name`.
 * Spec: http/webhooks.md §6.4. Pure.
 */
import { isPrototypeKey } from "../config/plain-data.ts";

/** A path of keys and indexes, from the outermost to the innermost. */
export interface Place {
  /** The place as written. */
  readonly text: string;
  readonly steps: readonly (string | number)[];
}

/**
 * Choice: characters that keys hardly contain and other template languages use are refused, so that a filter or a condition
 * is reported as a mistake instead of naming no place.
 */
const NAME = /(?![#/!^&\s])[^.[\]{}()|"'`\\<>=?,;\p{Cc}]*[^.[\]{}()|"'`\\<>=?,;\s\p{Cc}]/uy;
const INDEX = /\[(\d{1,9})\]/y;

/** @returns `undefined`: not a place */
export function parsePlace(text: string): Place | undefined {
  const steps: (string | number)[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) at = pattern.lastIndex;
    return match ?? undefined;
  };
  do {
    if (steps.length > 0 && text[at] === ".") at += 1;
    else if (steps.length > 0 && text[at] !== "[") return undefined;
    const index = text[at] === "[" ? take(INDEX) : undefined;
    const name = index ? undefined : take(NAME);
    if (index) steps.push(Number(index[1]));
    else if (name) steps.push(name[0]);
    else return undefined;
  } while (at < text.length);
  return { text, steps };
}

/**
 * The value at a place; `undefined`: none. Reads only own keys of objects and indexes of lists: a text has no length, and
 * prototypes are never reached.
 */
export function readPlace(value: unknown, { steps }: Place): unknown {
  return steps.reduce<unknown>(step, value);
}

function step(value: unknown, key: string | number): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) return typeof key === "number" || /^\d{1,9}$/.test(key) ? value[Number(key)] : undefined;
  if (typeof key === "number" || isPrototypeKey(key) || !Object.hasOwn(value, key)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[key]; // an own key of parsed JSON
}
