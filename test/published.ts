/** The schemas that the newest clients publish for what they send and read. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TSchema, violations } from "@svc/sdk";
import { root } from "./checkout.ts";

interface Published {
  readonly definitions: Readonly<Record<string, unknown>>;
  readonly methods: Readonly<Record<string, { readonly scope: string }>>;
}

const path = join(root, "node_modules/@openclaw/gateway-protocol/protocol.schema.json");
/** `definitions` by name, and the scope of each method. */
export const published = JSON.parse(readFileSync(path, "utf8")) as Published;

/** Differences between a value and a definition. Further fields are none: clients accept them. */
export function publishedViolations(definition: string, value: unknown): string[] {
  const schema = published.definitions[definition];
  if (schema === undefined) throw new Error(`no definition ${definition} is published`);
  return violations(openObjects(schema) as TSchema, value).map(
    (violation) => `${violation.path}: ${violation.message}`,
  );
}

/** The schema, without its refusals of further fields. */
function openObjects(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(openObjects);
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(schema).filter(([key, value]) => key !== "additionalProperties" || value !== false);
  return Object.fromEntries(kept.map(([key, value]) => [key, openObjects(value)]));
}
