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
