/**
 * Schemas: re-exports TypeBox and provides the only validation used in this codebase.
 *
 * Most schemas check a few values in the life of a process, e.g. a section of the configuration. A check takes 10 us; a validator that is
 * compiled, which takes 500 us, needs nanoseconds. So only schemas that are used more often are compiled.
 */
import { type Static, type TObject, type TProperties, type TSchema, Type } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { Value } from "typebox/value";

export { type Static, type TObject, type TProperties, type TSchema, Type };

/** One mismatch: its location (`/a/b`, `""` for the value itself) and the reason. */
export interface Violation {
  readonly path: string;
  readonly message: string;
  /** Name of the unexpected property. */
  readonly unexpected?: string;
  /** Expected JSON type. */
  readonly type?: unknown;
}

/** Choice: checks of a schema before it is compiled. */
const COMPILED_AFTER = 8;

/** The compiled validator of each schema, or how often the schema was used. */
const validators = new WeakMap<TSchema, Validator | number>();

/** Whether `value` matches `schema`. */
export function matches<S extends TSchema>(schema: S, value: unknown): value is Static<S> {
  const known = validators.get(schema) ?? 0;
  if (typeof known === "object") return known.Check(value);
  validators.set(schema, known < COMPILED_AFTER ? known + 1 : Compile(schema));
  return Value.Check(schema, value);
}

/** All mismatches of `value`, at most 20, the most specific first; empty if it matches. */
export function violations(schema: TSchema, value: unknown): Violation[] {
  const found: Violation[] = [];
  const unionPaths = new Map<string, unknown[]>();
  for (const error of Value.Errors(schema, value)) {
    const { keyword, instancePath: path } = error;
    const params = error.params as Record<string, unknown>;
    if (keyword === "boolean" && error.schemaPath.endsWith("/additionalProperties")) {
      const at = path.lastIndexOf("/");
      const unexpected = unescapePointer(path.slice(at + 1));
      found.push({ path: path.slice(0, at), message: `unexpected property '${unexpected}'`, unexpected });
      continue;
    }
    if (keyword === "additionalProperties") continue; // repeats the entries above
    if (keyword === "type" && /\/anyOf\/\d+$/.test(error.schemaPath)) continue; // a member of a union of literals
    if (keyword === "enum") {
      const choices = params["allowedValues"] as unknown[];
      found.push({ path, message: `must be one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}` });
      continue;
    }
    if (keyword === "const") {
      // members of a union of literals: reported once, with all choices
      const seen = unionPaths.get(path) ?? [];
      unionPaths.set(path, [...seen, params["allowedValue"]]);
      continue;
    }
    const choices = unionPaths.get(path);
    if (keyword === "anyOf" && choices) {
      unionPaths.delete(path);
      found.push({ path, message: `must be one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}` });
      continue;
    }
    found.push({ path, message: error.message, ...(keyword === "type" ? { type: params["type"] } : {}) });
  }
  for (const [path, choices] of unionPaths) found.push({ path, message: `must be ${JSON.stringify(choices[0])}` });
  // Unions of objects may yield no named mismatch; an invalid value must still be reported.
  if (found.length === 0 && !matches(schema, value)) found.push({ path: "", message: "does not match the schema" });
  return found.slice(0, 20);
}

/** Decodes a JSON pointer segment: `~1` is `/` and `~0` is `~`. */
function unescapePointer(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** `violations` as one line: `at /path: text; at root: text`. Spec: protocol/frames-and-connect.md §2. */
export function describeViolations(schema: TSchema, value: unknown): string {
  const lines = violations(schema, value).map(({ path, message }) => `at ${path === "" ? "root" : path}: ${message}`);
  return lines.join("; ");
}

/** A copy of `value` with the defaults of the schema. Does not validate. */
export function withDefaults<S extends TSchema>(schema: S, value: unknown): Static<S> {
  return Value.Default(schema, structuredClone(value)) as Static<S>;
}

/** `Type.Object` that rejects unknown keys, as all params on the wire do. */
export function Strict<P extends TProperties>(properties: P, options: object = {}): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** The schema changed to reject unknown keys; unchanged if it already has a rule for further keys. */
export function closedSchema<S extends TSchema>(schema: S): S {
  if (!("properties" in schema) || "additionalProperties" in schema || "patternProperties" in schema) return schema;
  const closed = { value: false, enumerable: true };
  // Copies descriptors: TypeBox stores the kind of a schema in non-enumerable keys, which a spread omits.
  const copy: unknown = Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(schema), additionalProperties: closed },
  );
  return copy as S;
}

/** Freezes plain data recursively; class instances are left alone. @returns the value itself */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}

/** A non-empty string. */
export const NonEmpty = Type.String({ minLength: 1 });

/** A deeply read-only view of a JSON value. */
export type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;
