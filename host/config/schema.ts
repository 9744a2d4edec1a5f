/** The JSON Schema of the whole configuration. Spec: http/config.md §3.2, protocol/methods-config.md §2. Pure. */
import type { TSchema } from "@svc/sdk";
import { HOST_SECTIONS } from "./host-schema.ts";
import { own } from "./plain-data.ts";
import { claimedAction, claimProblem, openPlacesIn, sectionPath, withValueAt } from "./section-keys.ts";

/** A plugin's claim on a section; one per section. `schema` is absent while the plugin is not loaded. */
export interface SectionOwner {
  readonly section: string;
  readonly plugin: string;
  readonly schema: TSchema | undefined;
}

/** Composes a draft-07 schema. Unknown top-level keys stay allowed, for absent plugins; plugins cannot claim a key of the host. */
export function composeSchema(owners: readonly SectionOwner[]): Record<string, unknown> {
  const properties = new Map<string, unknown>([
    ["$schema", { type: "string", description: "schema for editors; the gateway ignores it" }],
    ["meta", { type: "object" }],
  ]);
  for (const [section, schema] of Object.entries(HOST_SECTIONS))
    properties.set(section, opened(section, schema, owners));
  const mappings = ["properties", "mappings", "items", "properties"];
  properties.set(
    "hooks",
    withValueAt(properties.get("hooks"), mappings, (known) => ({
      ...(known as object),
      ...mappingKeys(owners),
      ...(known as object),
    })), // an object of the host's schema
  );
  for (const { section, schema } of owners)
    if (schema && !claimProblem(section) && sectionPath(section).length === 1 && !properties.has(section))
      properties.set(section, toJsonSchema(schema));
  for (const { section, schema } of owners) {
    const [first = "", key] = sectionPath(section);
    if (schema && key !== undefined && !claimProblem(section) && !properties.has(first))
      properties.set(first, { type: "object", ...sharedBy([first], owners) });
  }
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "SvcConfig",
    type: "object",
    properties: Object.fromEntries(properties),
  };
}

/** A section of the host with the keys that plugins own in it. */
function opened(section: string, schema: TSchema, owners: readonly SectionOwner[]): unknown {
  return openPlacesIn(section).reduce<unknown>((whole, { path }) => {
    const steps = path.slice(1).flatMap((key) => ["properties", key]);
    return withValueAt(whole, steps, (node) => {
      const { additionalProperties: _, properties, ...rest } = node as Readonly<Record<string, unknown>>; // an open place is an object in the host's schema
      return { ...rest, properties: { ...(properties as object), ...sharedBy(path, owners).properties } };
    });
  }, toJsonSchema(schema));
}

/** The schema in a claim for one key of a mapping. */
export function claimedKey({ schema }: SectionOwner, key: string): TSchema | undefined {
  return own(own(schema, "properties"), key) as TSchema | undefined; // the properties of a schema are schemas
}

/** Mapping keys defined by actions of plugins; a key of several actions accepts the values of each. */
function mappingKeys(owners: readonly SectionOwner[]): Record<string, unknown> {
  const claims = owners.filter(({ section, schema }) => schema && claimedAction(section) !== undefined);
  const keys = new Set(claims.flatMap(({ schema }) => Object.keys(own(schema, "properties") ?? {})));
  return Object.fromEntries(
    [...keys].map((key) => {
      const all = claims.flatMap((claim) => JSON.stringify(claimedKey(claim, key)) ?? []);
      const [first, ...others] = [...new Set(all)].map((text) => JSON.parse(text) as unknown);
      return [key, others.length === 0 ? first : { anyOf: [first, ...others] }];
    }),
  );
}

/** The properties that plugins own at a place. */
function sharedBy(place: readonly string[], owners: readonly SectionOwner[]): { readonly properties: object } {
  const added = new Map<string, unknown>();
  for (const { section, schema } of owners) {
    const path = sectionPath(section);
    const key = path.at(-1) ?? "";
    const isHere = path.slice(0, -1).join() === place.join();
    if (schema && isHere && claimedAction(section) === undefined && !claimProblem(section) && !added.has(key))
      added.set(key, toJsonSchema(schema));
  }
  return { properties: Object.fromEntries(added) };
}

/** A TypeBox schema is JSON Schema plus symbol keys; a JSON round trip drops those. */
function toJsonSchema(schema: TSchema | undefined): unknown {
  return JSON.parse(JSON.stringify(schema));
}
