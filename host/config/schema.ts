/** The JSON Schema of the whole configuration. Spec: http/config.md §3.2, protocol/methods-config.md §2. Pure. */
import type { TSchema } from "@svc/sdk";
import { HOST_SECTIONS } from "./host-schema.ts";

/** A plugin's claim on a top-level key; one for each key it owns. `schema` is absent while the plugin is not loaded. */
export interface SectionOwner {
  readonly section: string;
  readonly plugin: string;
  readonly schema: TSchema | undefined;
}

/** Draft-07. Keys of plugins that are not here stay allowed; a key of the host stays the host's. */
export function composeSchema(owners: readonly SectionOwner[]): Record<string, unknown> {
  const properties = new Map<string, unknown>([
    ["$schema", { type: "string" }],
    ["meta", { type: "object" }],
  ]);
  for (const [section, schema] of Object.entries(HOST_SECTIONS)) properties.set(section, toJsonSchema(schema));
  for (const { section, schema } of owners)
    if (schema && !properties.has(section)) properties.set(section, toJsonSchema(schema));
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "SvcConfig",
    type: "object",
    properties: Object.fromEntries(properties),
  };
}

/** A TypeBox schema is JSON Schema plus hidden keys; a round trip drops those. */
function toJsonSchema(schema: TSchema): unknown {
  return JSON.parse(JSON.stringify(schema));
}
