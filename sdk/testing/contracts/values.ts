/** Valid and invalid values generated from a schema. Pure. */
import { Value } from "typebox/value";
import { describeViolations, matches, type TSchema } from "../../schema.ts";

/**
 * The minimal valid value; `undefined` if the schema does not suffice to generate one, e.g. a pattern without a
 * default.
 */
export function leastOf(schema: TSchema): { readonly value: unknown } | undefined {
  try {
    const value: unknown = Value.Create(schema);
    return matches(schema, value) ? { value } : undefined;
  } catch {
    return undefined;
  }
}

/** An invalid value, and what is wrong with it. */
export interface Misfit {
  readonly what: string;
  readonly value: unknown;
}

/** One value of each JSON type. */
const KINDS: readonly unknown[] = [null, true, -1.5, "?", [null], { "no such key": null }];

/** Variants of a valid object with one fault each: a missing key, a key of the wrong type, or not an object. */
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

/** The same object with an unknown key. */
export function withUnknownKey(fitting: unknown): object {
  return { ...(fitting as object), "no-such-key": 1 };
}

/** @throws Error that describes the mismatch */
export function expectFits(schema: TSchema, value: unknown, what: string): void {
  if (!matches(schema, value))
    throw new Error(`${what} does not match its schema: ${describeViolations(schema, value)}`);
}
