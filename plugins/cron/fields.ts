/** Objects of which nothing is known yet, and keys that may be absent. Pure. */
import { invalidRequest } from "@svc/sdk";

/** An object as it came from outside. */
export type Fields = Readonly<Record<string, unknown>>;

/** Keys an object of `cron.*` may have. Choice: more than any client sends, and few enough to check in no time. */
const MOST_KEYS = 100;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `T`, with `undefined` for what may be absent. */
type Gaps<T> = { [K in keyof T]: {} extends Pick<T, K> ? T[K] | undefined : T[K] };

/** Without the keys that are `undefined`: what is not there has no key. */
export function defined<T extends object>(fields: Gaps<T>): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T; // by `Gaps`
}

/** Nothing, white space included. */
export function isBlank(value: unknown): boolean {
  return value === undefined || (typeof value === "string" && value.trim() === "");
}

/** A text without the white space around it; anything else as it is. */
export function trimmed(value: unknown): unknown {
  return typeof value === "string" ? value.trim() : value;
}

/** The one of `words` that is meant, whatever its case; anything else as it is, for the schema to refuse. */
export function wordOf(words: readonly string[], value: unknown): unknown {
  if (typeof value !== "string") return value;
  const wanted = value.trim().toLowerCase();
  return words.find((word) => word.toLowerCase() === wanted) ?? value;
}

/** Before a schema looks at it: that takes its time with very many keys. @throws GatewayError `INVALID_REQUEST` */
export function boundKeys(value: unknown, method: string, levels = 4): void {
  if (!isFields(value) || levels === 0) return;
  const children = Object.values(value);
  if (children.length > MOST_KEYS) {
    invalidRequest(`invalid ${method} params: an object has ${children.length} properties, and may have ${MOST_KEYS}`);
  }
  for (const child of children) boundKeys(child, method, levels - 1);
}
