/** Converts JSON Schema to the schemas of the API, a subset of OpenAPI 3.0. Pure. */

type Schema = Readonly<Record<string, unknown>>;

/** Choice: schemas in one conversion; the rest accepts any value. The bound is for references that multiply. */
const MAX_SCHEMAS = 2_000;
/** Choice: references followed in a row. */
const MAX_REFERENCES = 32;

/** Keywords that are passed on unchanged. */
const KEPT = [
  "title",
  "description",
  "nullable",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
  "pattern",
] as const;

/** Keywords beside `anyOf`: the API rejects others there. */
const BESIDE_UNION = ["anyOf", "title", "description", "nullable"];

/** Formats that the API accepts; it rejects others. */
const FORMATS = new Set(["float", "double", "int32", "int64", "date-time", "enum"]);

/** Stands for a schema that accepts any value, since the API requires a type. */
const ANY = { type: "string" } as const;

interface Scene {
  /** Contains `$defs`. */
  readonly root: Schema;
  /** References that are being replaced, to find those to themselves. */
  readonly inside: readonly string[];
  readonly count: { schemas: number };
}

/**
 * The schema without keywords that the API does not accept, e.g. `additionalProperties`. References are replaced by what
 * they refer to, `oneOf` becomes `anyOf`, `const` an enumeration, and `allOf` is merged. The tools check the arguments
 * against their complete schemas, so a dropped keyword only means that the model knows less.
 */
export function toApiSchema(schema: unknown): object {
  return convert(schema, { root: Object(schema) as Schema, inside: [], count: { schemas: 0 } });
}

function convert(value: unknown, around: Scene): object {
  around.count.schemas += 1;
  if (typeof value !== "object" || value === null || around.count.schemas > MAX_SCHEMAS) return ANY;
  const found = resolved(value as Schema, around);
  if (!found) return { type: "object" }; // a reference to a schema around it
  const { scene } = found;
  const schema = merged(found.schema, scene);
  const result: Record<string, unknown> = {};
  for (const key of KEPT) if (schema[key] !== undefined) result[key] = schema[key];
  const { format } = schema;
  if (typeof format === "string" && FORMATS.has(format)) result["format"] = format;
  if (saysNull(schema)) result["nullable"] = true;
  const union = schema["properties"] === undefined ? (schema["anyOf"] ?? schema["oneOf"]) : undefined;
  const types = typesOf(schema);
  if (Array.isArray(union)) Object.assign(result, toUnion(union, scene));
  else if (types.length > 1) result["anyOf"] = types.map((type) => convert({ ...schema, type }, scene));
  else result["type"] = types[0] ?? ANY.type;
  if (result["anyOf"] !== undefined) return only(result, BESIDE_UNION);
  addValues(result, schema);
  return { ...result, ...partsOf(result["type"], schema, scene) };
}

/** Properties and items. */
function partsOf(type: unknown, { properties, items, required }: Schema, scene: Scene): object {
  if (type === "array") return { items: convert(Array.isArray(items) ? {} : (items ?? {}), scene) };
  if (type !== "object" || typeof properties !== "object" || properties === null) return {};
  const entries = Object.entries(properties).map(([name, one]) => [name, convert(one, scene)] as const);
  const known = Array.isArray(required) ? required.filter((name) => Object.hasOwn(properties, String(name))) : [];
  return {
    ...(entries.length > 0 ? { properties: Object.fromEntries(entries) } : {}),
    ...(known.length > 0 ? { required: known } : {}),
  };
}

/** The union without `null`, which the API expresses as `nullable`. */
function toUnion(union: readonly unknown[], scene: Scene): object {
  const kinds = union.filter((one) => (Object(one) as Schema)["type"] !== "null");
  const nullable = kinds.length < union.length ? { nullable: true } : {};
  if (kinds.length < 2) return { ...convert(kinds[0], scene), ...nullable };
  return { anyOf: kinds.map((one) => convert(one, scene)), ...nullable };
}

/** Types except `null`. A schema without a type gets that of its other keywords. */
function typesOf({ type, properties, items, enum: values, const: constant }: Schema): string[] {
  const named = [type].flat().filter((one): one is string => typeof one === "string");
  if (named.length > 0) return named.filter((one) => one !== "null");
  if (properties !== undefined) return ["object"];
  if (items !== undefined) return ["array"];
  const all = valuesOf(values, constant);
  const types = [...new Set(all.map((one) => typeof one))];
  return types.length === 1 && ["string", "number", "boolean"].includes(types[0] ?? "") ? types : [];
}

function saysNull({ type, enum: values }: Schema): boolean {
  return (Array.isArray(type) && type.includes("null")) || (Array.isArray(values) && values.includes(null));
}

/** Values of `enum` or `const`, except null. */
function valuesOf(values: unknown, constant: unknown): unknown[] {
  const all: unknown[] = Array.isArray(values) ? values : constant === undefined ? [] : [constant];
  return all.filter((one) => one !== null);
}

/** The API enumerates strings only; other values are named in the description. */
function addValues(result: Record<string, unknown>, { enum: values, const: constant }: Schema): void {
  const all = valuesOf(values, constant);
  if (all.length === 0) return;
  if (result["type"] === "string" && all.every((one) => typeof one === "string" && one !== "")) {
    result["enum"] = all;
    return;
  }
  const listed = `One of: ${all.map((one) => JSON.stringify(one)).join(", ")}.`;
  const { description } = result;
  result["description"] = typeof description === "string" ? `${description} ${listed}` : listed;
}

/** Follows references within the schema. @returns `undefined` for a reference to a schema around this one */
function resolved(schema: Schema, scene: Scene): { schema: Schema; scene: Scene } | undefined {
  let [at, inside] = [schema, scene.inside];
  for (let followed = 0; typeof at["$ref"] === "string" && followed < MAX_REFERENCES; followed += 1) {
    const { $ref: reference, ...rest } = at as Schema & { $ref: string }; // just checked
    if (inside.includes(reference)) return undefined;
    const target = reference.startsWith("#") ? targetOf(reference, scene.root) : undefined;
    at = { ...(target as Schema | undefined), ...rest }; // a schema, or not found: any value
    inside = [...inside, reference];
  }
  return { schema: at, scene: { ...scene, inside } };
}

function targetOf(reference: string, root: Schema): unknown {
  const keys = reference.slice(1).split("/").slice(1);
  return keys.reduce<unknown>((at, key) => {
    const name = key.replaceAll("~1", "/").replaceAll("~0", "~");
    return Object.hasOwn(Object(at), name) ? (at as Schema)[name] : undefined;
  }, root);
}

/** Merges the parts of `allOf` into the schema. */
function merged(schema: Schema, scene: Scene): Schema {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf)) return schema;
  return allOf.slice(0, MAX_REFERENCES).reduce<Schema>((whole, one: unknown) => {
    const part = resolved(Object(one) as Schema, scene)?.schema ?? {};
    const properties = { ...(part["properties"] as object), ...(whole["properties"] as object) };
    const required = [whole["required"], part["required"]].flat().filter((name) => name !== undefined);
    return {
      ...part,
      ...whole,
      ...(Object.keys(properties).length > 0 ? { properties } : {}),
      ...(required.length > 0 ? { required } : {}),
    };
  }, rest);
}

function only(from: Readonly<Record<string, unknown>>, keys: readonly string[]): object {
  return Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]])));
}
