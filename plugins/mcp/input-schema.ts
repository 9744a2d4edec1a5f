/**
 * Turns the argument schema that a server declares into a schema for models and for validation. Pure.
 *
 * The input is untrusted JSON. Only known keywords with values of the right type are kept: nothing else reaches the schema
 * compiler or a model server. References are replaced by their targets. Dropping a keyword makes validation more lenient;
 * the server validates again.
 */
import { invalidRequest, matches, type TSchema } from "@svc/sdk";
import { externalLine } from "@svc/sdk/external-content";

/** Choice: maximum parts, nesting depth and characters of one schema. */
const MAX_PARTS = 2_000;
const MAX_DEPTH = 24;
export const MAX_SCHEMA_CHARS = 64 * 1024;
const MAX_CHOICES = 500;
const MAX_DESCRIPTION = 1_000;

/** Property names accepted by every model server. */
const PROPERTY = /^[a-zA-Z0-9_.-]{1,64}$/;
const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];
const NUMBERS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] as const;
const COUNTS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] as const;

type Json = Readonly<Record<string, unknown>>;
type Part = Record<string, unknown>;

interface Walk {
  readonly root: Json;
  /** References followed so far; a recursive schema is cut off at the repeated reference. */
  readonly trail: readonly string[];
  readonly depth: number;
  readonly budget: { parts: number };
}

/** @throws GatewayError `INVALID_REQUEST` with the reason why a tool with this schema cannot be offered */
export function inputSchema(given: unknown): TSchema {
  if (!isObject(given)) return invalidRequest("its inputSchema is not an object");
  const walk: Walk = { root: given, trail: [], depth: 0, budget: { parts: MAX_PARTS } };
  const { anyOf: _any, oneOf: _one, allOf: _all, not: _not, enum: _enum, const: _const, ...rest } = part(given, walk);
  // Model servers require an object with properties, and no alternatives, at the top level.
  const { type = "object", properties = {} } = rest;
  if (type !== "object") return invalidRequest(`its inputSchema is of type ${JSON.stringify(type)}, not object`);
  const schema = { ...rest, type, properties } as TSchema; // plain JSON Schema is a TSchema
  if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS) return tooLarge();
  return compiled(schema);
}

function compiled(schema: TSchema): TSchema {
  try {
    matches(schema, {});
    return schema;
  } catch {
    return invalidRequest("its inputSchema cannot be compiled");
  }
}

function tooLarge(): never {
  return invalidRequest("its inputSchema is too large");
}

function part(given: unknown, walk: Walk): Part {
  walk.budget.parts -= 1;
  if (walk.budget.parts < 0 || walk.depth > MAX_DEPTH) tooLarge();
  if (given === true) return {};
  if (given === false) return { not: {} };
  if (!isObject(given)) return invalidRequest("its inputSchema has a part that is not a schema");
  const inner = { ...walk, depth: walk.depth + 1 };
  const referred = typeof given["$ref"] === "string" ? resolve(given["$ref"], inner) : {};
  return { ...referred, ...words(given), ...limits(given), ...choices(given), ...members(given, inner) };
}

/** Resolves a reference within the same schema. */
function resolve(ref: string, walk: Walk): Part {
  if (walk.trail.includes(ref)) return {};
  if (ref !== "#" && !ref.startsWith("#/")) return invalidRequest("its inputSchema has a reference outside of itself");
  const steps = ref.split("/").slice(1).map(unescaped);
  let target: unknown = walk.root;
  for (const step of steps) {
    const at: unknown = Array.isArray(target) || isObject(target) ? Object.entries(target) : [];
    target = (at as [string, unknown][]).find(([key]) => key === step)?.[1];
  }
  if (target === undefined) return invalidRequest("its inputSchema has a reference to a missing part");
  return part(target, { ...walk, trail: [...walk.trail, ref] });
}

/** JSON pointers write `/` as `~1` and `~` as `~0`. */
const unescaped = (step: string) => step.replaceAll("~1", "/").replaceAll("~0", "~");

/** Texts for models. Patterns become part of the description and are never executed: an untrusted regular expression may take forever. */
function words({ title, description, pattern, default: standard, format }: Json): Part {
  const pieces = [
    typeof description === "string" ? externalLine(description, MAX_DESCRIPTION) : "",
    typeof pattern === "string" ? externalLine(`(pattern: ${pattern})`, 200) : "",
  ].filter((piece) => piece !== "");
  return {
    ...(typeof title === "string" ? { title: externalLine(title, 100) } : {}),
    ...(pieces.length > 0 ? { description: pieces.join(" ") } : {}),
    ...(isScalar(standard) ? { default: standard } : {}),
    ...(typeof format === "string" && /^[a-z-]{1,30}$/.test(format) ? { format } : {}),
  };
}

function limits(given: Json): Part {
  const { type, uniqueItems, multipleOf } = given;
  const kinds: unknown[] = Array.isArray(type) ? type : [type];
  if (type !== undefined && (kinds.length === 0 || !kinds.every((kind) => TYPES.includes(kind as string)))) {
    return invalidRequest("its inputSchema has a type that does not exist");
  }
  const numbers = NUMBERS.filter((key) => Number.isFinite(given[key]));
  const counts = COUNTS.filter((key) => Number.isSafeInteger(given[key]) && Number(given[key]) >= 0);
  return {
    ...(type === undefined ? {} : { type }),
    ...Object.fromEntries([...numbers, ...counts].map((key) => [key, given[key]])),
    ...(typeof multipleOf === "number" && multipleOf > 0 ? { multipleOf } : {}),
    ...(uniqueItems === true ? { uniqueItems } : {}),
  };
}

function choices(given: Json): Part {
  const { enum: some, const: one } = given;
  const isList = Array.isArray(some) && some.length > 0 && some.length <= MAX_CHOICES && some.every(isScalar);
  return { ...(isList ? { enum: some } : {}), ...(isScalar(one) ? { const: one } : {}) };
}

function members(given: Json, walk: Walk): Part {
  const { properties, required, additionalProperties: further, patternProperties, items, prefixItems, not } = given;
  const result: Part = {};
  if (properties !== undefined) result["properties"] = propertiesOf(properties, walk);
  if (Array.isArray(required)) result["required"] = required.filter((key) => typeof key === "string");
  // `patternProperties` is not validated, so keys that match it must not count as additional.
  if (patternProperties === undefined) {
    if (typeof further === "boolean") result["additionalProperties"] = further;
    else if (further !== undefined) result["additionalProperties"] = part(further, walk);
  }
  if (items !== undefined && !Array.isArray(items)) result["items"] = part(items, walk);
  if (Array.isArray(prefixItems)) result["prefixItems"] = prefixItems.map((item) => part(item, walk));
  for (const key of ["anyOf", "oneOf", "allOf"] as const) {
    const options = given[key];
    if (Array.isArray(options) && options.length > 0) result[key] = options.map((option) => part(option, walk));
  }
  if (not !== undefined) result["not"] = part(not, walk);
  return result;
}

function propertiesOf(properties: unknown, walk: Walk): Part {
  if (!isObject(properties)) return invalidRequest("its inputSchema has properties that are not an object");
  const entries = Object.entries(properties).map(([key, value]) => {
    // `in`: names such as `constructor` collide with members of Object.prototype.
    if (!PROPERTY.test(key) || key in {}) {
      return invalidRequest(`its inputSchema has a property with an unsupported name: ${externalLine(key, 40)}`);
    }
    return [key, part(value, walk)];
  });
  return Object.fromEntries(entries) as Part;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value === "boolean" || typeof value === "string" || Number.isFinite(value);
}
