/** Objects of unknown shape, and keys that may be absent. Pure. */

/** An object from outside, not yet checked. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `T`, where optional keys may also be `undefined`. */
export type Gaps<T> = { [K in keyof T]: {} extends Pick<T, K> ? T[K] | undefined : T[K] };

/** A copy without the keys that are `undefined`. */
export function defined<T extends object>(fields: Gaps<T>): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T; // by `Gaps`
}

/** Absent, or only white space. */
export function isBlank(value: unknown): boolean {
  return value === undefined || (typeof value === "string" && value.trim() === "");
}

/** A copy with only these keys, and the names of the other ones. */
export function picked<T extends object>(fields: T, keys: readonly string[]): readonly [T, readonly string[]] {
  const entries = Object.entries(fields);
  const kept = Object.fromEntries(entries.filter(([key]) => keys.includes(key))) as T; // the schema allows more keys than `T` has
  return [kept, entries.map(([key]) => key).filter((key) => !keys.includes(key))];
}
