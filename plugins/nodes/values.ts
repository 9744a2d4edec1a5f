/** Reads unchecked values of nodes and callers. Pure. */

/** Own properties of an object; empty for any other value. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value)); // own keys only
}

/** The trimmed string under `key`; `undefined` for other or blank values. */
export function textField(fields: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
}

/** Removes properties that are `undefined` or `null`. */
export function present<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const said = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(said) as { [K in keyof T]?: NonNullable<T[K]> }; // the same keys, none absent
}
