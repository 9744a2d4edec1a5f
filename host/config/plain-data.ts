/** Helpers for plain data as parsed from JSON5. Pure. */

export type PlainObject = Readonly<Record<string, unknown>>;

/** Keys never copied from one object to another: other code could reach a prototype through them. */
const PROTOTYPE_KEYS: ReadonlySet<string> = new Set(["__proto__", "prototype", "constructor"]);

export function isPrototypeKey(key: string): boolean {
  return PROTOTYPE_KEYS.has(key);
}

export function isObject(value: unknown): value is PlainObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of an own property, never of a prototype. */
export function own(value: unknown, key: string | number): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string | number, unknown>)[key]
    : undefined;
}

/** A deep copy without prototype keys. */
export function cleanCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cleanCopy);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => !isPrototypeKey(key));
  return Object.fromEntries(kept.map(([key, item]) => [key, cleanCopy(item)]));
}

/** Whether two values are equal; ignores the order of keys, prototypes and the sign of zero. */
export function sameData(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return left.every((item, index) => sameData(item, right[index]));
  }
  if (!isObject(left) || !isObject(right)) return left === right || Object.is(left, right);
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && sameData(left[key], right[key]));
}

/** Whether the list is not empty and every element is an object with a non-empty `id`; such lists are merged by id. */
export function isIdList(value: unknown): value is readonly (PlainObject & { readonly id: string })[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => idOf(item) !== undefined);
}

/** The non-empty `id` of an object, or `undefined`. */
export function idOf(item: unknown): string | undefined {
  const id = isObject(item) ? own(item, "id") : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
}
