/** Values that fit a schema, and values that do not, made from the schema itself. Pure. */
import { Value } from "typebox/value";
import { describeViolations, matches, type TSchema } from "../../schema.ts";

/** The least value that fits; `undefined` where the schema says too little to make one up, e.g. a pattern without a default. */
export function leastOf(schema: TSchema): { readonly value: unknown } | undefined {
  try {
    const value: unknown = Value.Create(schema);
    return matches(schema, value) ? { value } : undefined;
  } catch {
    return undefined;
  }
}

/** A value that is wrong, and in which way. */
export interface Misfit {
  readonly what: string;
  readonly value: unknown;
}

/** One of each kind of JSON. */
const KINDS: readonly unknown[] = [null, true, -1.5, "?", [null], { "no such key": null }];

/** Each changes one thing of an object that fits: a key too few, a key of the wrong kind, and no object at all. */
export function misfitsOf(schema: TSchema, fitting: unknown): Misfit[] {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, TSchema>; required?: string[] };
  const given = typeof fitting === "object" && fitting !== null ? (fitting as Record<string, unknown>) : {};
  const missing = required.map((key): Misfit => {
    const { [key]: _, ...value } = given;
    return { what: `without "${key}"`, value };
  });
  const wrong = Object.keys(properties).flatMap((key): Misfit[] => {
    const at = KINDS.find((kind) => !matches(schema, { ...given, [key]: kind }));
    return at === undefined ? [] : [{ what: `with "${key}": ${JSON.stringify(at)}`, value: { ...given, [key]: at } }];
  });
  return [{ what: "as a list", value: [] }, ...missing, ...wrong].filter(({ value }) => !matches(schema, value));
}

/** The same object with a key that nobody knows. */
export function withUnknownKey(fitting: unknown): object {
  return { ...(fitting as object), "no-such-key": 1 };
}

/** @throws Error that says what does not fit */
export function expectFits(schema: TSchema, value: unknown, what: string): void {
  if (!matches(schema, value)) throw new Error(`${what} does not fit its schema: ${describeViolations(schema, value)}`);
}
