/** The part of a JSON Schema for one path. Pure. */
import type { Path } from "./path.ts";

type Node = Readonly<Record<string, unknown>>;

/** @returns `undefined` when the schema does not cover the path */
export function schemaAt(schema: unknown, path: Path): unknown {
  const [part, ...rest] = path;
  if (part === undefined) return schema;
  if (typeof schema !== "object" || schema === null) return undefined;
  const node = schema as Node;
  for (const child of childrenOf(node, part)) {
    const found = schemaAt(child, rest);
    if (found !== undefined) return found;
  }
  for (const choice of [node["anyOf"], node["oneOf"], node["allOf"]].flat()) {
    const found = schemaAt(choice, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Schemas of one key or item, the most specific first. */
function childrenOf({ properties, patternProperties, additionalProperties, items }: Node, part: string | number) {
  const key = String(part);
  const named = typeof properties === "object" && properties !== null ? (properties as Node) : {};
  if (Object.hasOwn(named, key)) return [named[key]];
  const patterns = Object.entries((patternProperties ?? {}) as Node)
    .filter(([pattern]) => new RegExp(pattern, "u").test(key))
    .map(([, schema]) => schema);
  const others = typeof additionalProperties === "object" ? [additionalProperties] : [];
  return [...patterns, ...others, ...(/^\d+$/.test(key) && typeof items === "object" ? [items] : [])];
}
