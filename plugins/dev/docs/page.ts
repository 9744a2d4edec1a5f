/** One entry of the reference, and the lines that print the entry. Pure. */
import type { TSchema } from "@svc/sdk";

/** One entry: a method, an event, a configuration key. */
export interface Page {
  readonly name: string;
  readonly summary: string;
  /** Each fact: a label, and a text, a list of texts or a schema. */
  readonly facts: readonly (readonly [label: string, value: string | readonly string[] | TSchema])[];
}

/** The lines of an entry, for a terminal and for a code block. */
export function pageLines({ name, summary, facts }: Page): string[] {
  return [`${name}: ${summary}`, ...facts.flatMap(factLines)];
}

/** The lines of a fact: one line, or a label and indented lines. */
export function factLines([label, value]: Page["facts"][number]): string[] {
  if (typeof value === "string") return [`${label}: ${value}`];
  const lines = isList(value) ? value.map((text) => `  ${text}`) : schemaLines(value, "  ");
  return [`${label}:`, ...lines];
}

const isList = (value: unknown): value is readonly string[] => Array.isArray(value);
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** One line for each key, nested keys below it. */
function schemaLines(schema: TSchema, indent: string): string[] {
  const {
    properties,
    required = [],
    items,
    anyOf,
  } = schema as {
    properties?: Readonly<Record<string, TSchema>>;
    required?: readonly string[];
    items?: TSchema;
    anyOf?: readonly TSchema[];
  };
  if (properties) {
    const all = Object.entries(properties);
    if (all.length === 0) return [`${indent}no keys`];
    return all.flatMap(([key, value]) => [
      `${indent}${key}${required.includes(key) ? "" : "?"}: ${typeText(value)}${descriptionOf(value)}`,
      ...below(value, `${indent}  `),
    ]);
  }
  if (items) return schemaLines(items, indent);
  if ("patternProperties" in schema) return [`${indent}any keys`];
  if (anyOf) return anyOf.flatMap((one) => [`${indent}${typeText(one)}`, ...below(one, `${indent}  `)]);
  return [`${indent}${typeText(schema)}${descriptionOf(schema)}`];
}

/** The keys of an object, or of the objects in a list. */
function below(schema: TSchema, indent: string): string[] {
  const { properties, items } = schema as { properties?: object; items?: TSchema };
  if (properties && Object.keys(properties).length > 0) return schemaLines(schema, indent);
  return items ? below(items, indent) : [];
}

function descriptionOf(schema: TSchema): string {
  const { description } = schema as { description?: unknown };
  return typeof description === "string" ? `. ${description}` : "";
}

/** The type of a value in a few words, e.g. `list of integer from 1 to 10`. */
export function typeText(schema: TSchema): string {
  const { type, const: one, enum: some, anyOf, items, minimum, maximum } = schema as Readonly<Record<string, unknown>>;
  if (one !== undefined) return JSON.stringify(one);
  if (Array.isArray(some)) return some.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(anyOf)) return (anyOf as TSchema[]).map(typeText).join(" | ");
  if (type === "array" && isRecord(items)) return `list of ${typeText(items)}`;
  const range = [
    minimum === undefined ? "" : ` from ${Number(minimum)}`,
    maximum === undefined ? "" : ` to ${Number(maximum)}`,
  ];
  return `${typeof type === "string" ? type : "anything"}${range.join("")}`;
}
