/** Values a node or a caller sends, whatever they are. Pure. */

/** The part of `value` that is an object with keys; anything else has none. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value)); // own keys only
}

/** Text under `key`, trimmed; `undefined` for what is none, or is blank. */
export function textField(fields: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

/** Without what is not said: keys of `undefined` and `null`. */
export function present<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const said = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(said) as { [K in keyof T]?: NonNullable<T[K]> }; // the same keys, none absent
}
