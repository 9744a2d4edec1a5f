/** The JSON Schema of the configuration as fields of a form: one kind for each schema that occurs. Pure. */
import type { ConfigHint, ReloadKind } from "@svc/sdk/config";
import { matcher } from "../../parts/words.ts";
import { isObject, isPlaceholder, own, type Path, pathText } from "./data.ts";

/** What the form reads of a JSON Schema. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly propertyNames?: Schema;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly reload?: ReloadKind;
}

/** Display facts of the keys, from `config.schema`. */
export type Hints = Readonly<Record<string, ConfigHint>>;

/** `group`: named keys, free keys, or both. `json`: a value without a schema. */
export type Kind = "choice" | "number" | "text" | "secret" | "list" | "group" | "union" | "json";

/** A key of the configuration, or an item of a list. */
export interface Field {
  readonly path: Path;
  /** Path in the hints: `*` is a free key, `[]` an item. */
  readonly pattern: string;
  readonly kind: Kind;
  readonly schema: Schema;
  readonly label: string;
  readonly help: string;
  readonly advanced: boolean;
  readonly sensitive: boolean;
  readonly isRequired: boolean;
  /** A free key: people chose its name. */
  readonly isEntry: boolean;
  readonly placeholder: string;
  /** How a change takes effect. */
  readonly reload: ReloadKind;
  readonly parent?: Field;
}

/** The whole configuration as a field. */
export function rootField(schema: Schema): Field {
  const rest = { help: "", advanced: false, sensitive: false, isRequired: false, isEntry: false, placeholder: "" };
  return { ...rest, path: [], pattern: "", kind: "group", schema, label: "", reload: "plugin" };
}

/** Members of a union, also of nested ones; the schema itself if it is none. */
export function variants(schema: Schema): readonly Schema[] {
  const members = schema.anyOf ?? schema.oneOf;
  return members ? members.flatMap(variants) : [schema];
}

/** The values of a choice; `undefined`: it is none. */
export function choicesOf(schema: Schema): readonly unknown[] | undefined {
  const all = variants(schema).map((one) =>
    one.enum ? one.enum : "const" in one ? [one.const] : one.type === "boolean" ? [true, false] : undefined,
  );
  return all.every((values) => values !== undefined) ? [...new Set(all.flat())] : undefined;
}

/** Whether a secret may be a reference to where it is stored. */
export function mayRefer(schema: Schema): boolean {
  return own(schema.properties, "source") !== undefined && own(schema.properties, "id") !== undefined;
}

export function kindOf(schema: Schema, sensitive: boolean): Kind {
  if (choicesOf(schema)) return "choice";
  if (variants(schema).length > 1) return "union";
  const [one = schema] = variants(schema);
  const { type } = one;
  if (Array.isArray(type)) return mayRefer(one) ? "secret" : "json";
  if (type === "string" || type === "integer" || type === "number") {
    if (sensitive) return "secret";
    return type === "string" ? "text" : "number";
  }
  if (type === "array") return one.items && kindOf(one.items, false) !== "json" ? "list" : "json";
  const keys = one.properties ?? one.patternProperties ?? isObject(one.additionalProperties);
  return keys ? "group" : "json";
}

/** The field below a key or an index; keys without a schema are `json`. */
export function childOf(parent: Field, key: string | number, hints: Hints): Field {
  const nodes = variants(parent.schema);
  const isItem = typeof key === "number";
  const named = isItem ? undefined : find(nodes, ({ properties }) => own(properties, key) as Schema | undefined);
  const schema = isItem ? find(nodes, ({ items }) => items) : (named ?? find(nodes, (node) => freeSchema(node, key)));
  const below = isItem ? "[]" : named ? `.${key}` : ".*";
  const pattern = `${parent.pattern}${below}`.replace(/^\./, "");
  const found = schema ?? {};
  const hint = hints[pattern] ?? {};
  const sensitive = hint.sensitive ?? (parent.sensitive && (isItem || !named));
  return {
    path: [...parent.path, key],
    pattern,
    kind: kindOf(found, sensitive),
    schema: found,
    label: named ? (hint.label ?? String(key)) : isItem ? `${key + 1}` : key,
    help: hint.help ?? "",
    advanced: hint.advanced ?? false,
    sensitive,
    isRequired: !isItem && nodes.some(({ required }) => required?.includes(key)) && found.default === undefined,
    isEntry: !isItem && !named,
    placeholder: hint.placeholder ?? "",
    reload: reloadOf(found) ?? parent.reload,
    parent,
  };
}

/** The named keys in order, then the free ones of `values`. */
export function childrenOf(parent: Field, hints: Hints, ...values: readonly unknown[]): readonly Field[] {
  const named = variants(parent.schema).flatMap(({ properties = {} }) => Object.keys(properties));
  const given = values.flatMap((value) => (isObject(value) ? Object.keys(value) : []));
  const order = ({ pattern }: Field) => hints[pattern]?.order ?? 999;
  const fields = [...new Set(named)].map((key) => childOf(parent, key, hints)).toSorted((a, b) => order(a) - order(b));
  const free = [...new Set(given)].filter((key) => !named.includes(key)).toSorted();
  return [...fields, ...free.map((key) => childOf(parent, key, hints))];
}

/** Whether people may add keys of their own; e.g. not in strict objects. */
export function takesEntries({ schema }: Field): boolean {
  return variants(schema).some((node) => freeSchema(node, "x") !== undefined || node.patternProperties !== undefined);
}

export function fieldAt(root: Field, path: Path, hints: Hints): Field {
  return path.reduce((field, key) => childOf(field, key, hints), root);
}

/** What a new entry, item or variant starts with. */
export function initialOf(schema: Schema): unknown {
  if (schema.default !== undefined) return schema.default;
  const choices = choicesOf(schema);
  if (choices) return choices[0];
  const kind = kindOf(variants(schema)[0] ?? {}, false);
  const starts: Readonly<Record<Kind, unknown>> = {
    choice: "",
    number: schema.minimum ?? 0,
    text: "",
    secret: "",
    list: [],
    group: {},
    union: "",
    json: schema.type === "array" ? [] : schema.type === "string" ? "" : {},
  };
  return starts[kind];
}

/** The member of a union that a value belongs to; -1: none. */
export function variantOf(schema: Schema, value: unknown): number {
  return variants(schema).findIndex((member) => {
    const choices = choicesOf(member);
    if (choices) return choices.includes(value);
    const { type } = member;
    if (Array.isArray(value)) return type === "array";
    if (isObject(value)) return type === "object";
    return type === typeof value || (typeof value === "number" && type === "integer");
  });
}

/** What is wrong with a value, as a rule of `texts`; the gateway checks everything again. */
export type Problem =
  | { readonly rule: "pattern" | "number" | "integer" | "required" }
  | { readonly rule: "min" | "max" | "minLength" | "maxLength"; readonly limit: number };

export function problemOf(schema: Schema, value: unknown): Problem | undefined {
  if (typeof value === "number") {
    const { minimum, maximum, exclusiveMinimum } = schema;
    if (schema.type === "integer" && !Number.isInteger(value)) return { rule: "integer" };
    if (minimum !== undefined && value < minimum) return { rule: "min", limit: minimum };
    if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return { rule: "min", limit: exclusiveMinimum };
    if (maximum !== undefined && value > maximum) return { rule: "max", limit: maximum };
  }
  if (typeof value === "string") {
    if (isPlaceholder(value)) return undefined;
    const { minLength = 0, maxLength = Infinity, pattern } = schema;
    if (value.length < minLength)
      return minLength === 1 ? { rule: "required" } : { rule: "minLength", limit: minLength };
    if (value.length > maxLength) return { rule: "maxLength", limit: maxLength };
    if (pattern !== undefined && !fits(pattern, value)) return { rule: "pattern" };
  }
  return undefined;
}

export function fits(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true; // a pattern of another dialect: the gateway decides
  }
}

/** A key that the search found. */
export interface Found {
  /** As in the hints. */
  readonly pattern: string;
  readonly label: string;
  readonly help: string;
  readonly group: string;
}

/** Keys whose path, title or description contains every word; those whose path or title does come first. */
export function search(hints: Hints, text: string, limit: number): readonly Found[] {
  if (text.trim() === "") return [];
  const has = matcher(text);
  const found = Object.entries(hints).flatMap(([pattern, { label = "", help = "", group = "" }]) => {
    if (pattern.endsWith("*") || pattern.endsWith("[]")) return [];
    const rank = has(label) ? 0 : has(`${pattern} ${label}`) ? 1 : has(`${pattern} ${label} ${help} ${group}`) ? 2 : 3;
    return rank === 3 ? [] : [{ rank: rank * 1_000 + pattern.length, pattern, label, help, group }];
  });
  return found.toSorted((a, b) => a.rank - b.rank).slice(0, limit);
}

/** The part of a pattern that exists in every configuration. */
export function reachable(pattern: string): Path {
  const [fixed = ""] = pattern.split(/\.\*|\[\]/);
  return fixed.split(".");
}

export function dataPath({ path }: Field): string {
  return pathText(path);
}

/** Whether it is an item of a list. */
export function isItem({ path }: Field): boolean {
  return typeof path.at(-1) === "number";
}

/** Whether it is an item or lies in one: items have no place of their own in the file, because they move. */
export function isInItem({ path }: Field): boolean {
  return path.some((key) => typeof key === "number");
}

function find<T>(nodes: readonly Schema[], pick: (node: Schema) => T | undefined): T | undefined {
  for (const node of nodes) {
    const found = pick(node);
    if (found !== undefined) return found;
  }
  return undefined;
}

function freeSchema(node: Schema, key: string): Schema | undefined {
  const matching = Object.entries(node.patternProperties ?? {}).find(([pattern]) => fits(pattern, key));
  if (matching) return matching[1];
  if (isObject(node.additionalProperties)) return node.additionalProperties;
  return node.additionalProperties === true ? {} : undefined;
}

/** Keys of plugins without the keyword reload their plugin. */
function reloadOf(schema: Schema): ReloadKind | undefined {
  const kinds = [schema, ...variants(schema)].map(({ reload }) => reload);
  return (["restart", "plugin", "hot"] as const).find((kind) => kinds.includes(kind));
}
