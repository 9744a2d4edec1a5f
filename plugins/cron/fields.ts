/** Objects of unknown shape, and keys that may be absent. Pure. */

/** An object as it came from outside. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `T`, with `undefined` for what may be absent. */
export type Gaps<T> = { [K in keyof T]: {} extends Pick<T, K> ? T[K] | undefined : T[K] };

/** A copy without the keys that are `undefined`. */
export function defined<T extends object>(fields: Gaps<T>): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T; // by `Gaps`
}

/** Absent, or only white space. */
export function isBlank(value: unknown): boolean {
  return value === undefined || (typeof value === "string" && value.trim() === "");
}
