/** A part of the schema of the configuration at a dotted path. Pure. */

type Fields = Readonly<Record<string, unknown>>;

/** The parts of a path; numbers are array indexes. */
export function partsOf(path: string): readonly string[] {
  return path
    .split(".")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** The schema at a path. Members of a map or an array share one schema. @returns `undefined` if the path cannot exist */
export function schemaAt(schema: unknown, parts: readonly string[]): unknown {
  return parts.reduce((node: unknown, part) => memberOf(node, part), schema);
}

function memberOf(schema: unknown, part: string): unknown {
  const named = own(own(schema, "properties"), part);
  if (named !== undefined) return named;
  for (const members of ["additionalProperties", "items"]) {
    const member = own(schema, members);
    if (isFields(member)) return member;
  }
  const patterns = own(schema, "patternProperties");
  if (isFields(patterns)) return Object.values(patterns)[0];
  const choices = own(schema, "anyOf");
  return Array.isArray(choices) ? choices.map((choice) => memberOf(choice, part)).find(isFields) : undefined;
}

function own(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? (value as Fields)[key] : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
