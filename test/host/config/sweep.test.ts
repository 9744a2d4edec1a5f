/** Every key of the host with every empty, blank and wrong value. Root cause: design/security.md "fail-open on empty". */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matches, type TSchema } from "@svc/sdk";
import { givenConfig } from "../../../host/config/file.ts";
import { HOST_SECTIONS } from "../../../host/config/host-schema.ts";
import { hostConfig } from "../../../host/config/sections.ts";

type Schemas = Readonly<Record<string, TSchema>>;
const OBJECTS: readonly unknown[] = [null, [], {}, [null], [""], ["*"], { x: 1 }];
const VALUES = [...OBJECTS, "", " ", "*", "0", "true", 0, -1, 1.5, true, false];

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every path in a schema; `*` is a map entry, `0` an item. */
function places(schema: TSchema, path: readonly string[]): { path: readonly string[]; schema: TSchema }[] {
  const { properties = {}, patternProperties = {}, additionalProperties } = schema as Record<string, unknown>;
  const below = [
    ...Object.entries(properties as Schemas),
    ...Object.values(patternProperties as Schemas).map((child) => ["any", child] as const),
    ...(isPlain(additionalProperties) ? [["any", additionalProperties as TSchema] as const] : []),
  ].flatMap(([key, child]) => places(child, [...path, key]));
  return [{ path, schema }, ...below];
}

/** `{ a: { b: value } }`, plus the keys that the parent objects require. */
function nest(path: readonly string[], value: unknown): Record<string, unknown> {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Record<string, unknown>;
}

for (const [section, schema] of Object.entries(HOST_SECTIONS)) {
  describe(`every empty and wrong value in ${section}`, () => {
    for (const place of places(schema, [section])) {
      it(`${place.path.join(".")} is accepted unchanged or refused by name`, () => {
        for (const value of VALUES) {
          const config = nest(place.path, value);
          const { config: read, issues } = hostConfig(givenConfig("/x/svc.json", config));
          const accepted = matches(schema, config[section]);
          const told = `${JSON.stringify(value)}: ${JSON.stringify(issues)}`;
          assert.equal(issues.length === 0, accepted, told);
          if (accepted)
            assert.deepEqual(read[section as keyof typeof read], config[section], "no value is turned into another");
          for (const { path, message } of issues) {
            assert.ok(path === section || path.startsWith(`${section}.`) || path.startsWith(`${section}[`), told);
            assert.ok(message.length > 3, told);
          }
          if (!matches(place.schema, value)) {
            const named = place.path.join(".");
            const near = issues.some(({ path }) => path.startsWith(named) || named.startsWith(path));
            assert.ok(near, `the issue names the place: ${told}`);
          }
        }
      });
    }
    it("an unknown key is refused", () => {
      const { issues } = hostConfig(givenConfig("/x/svc.json", { [section]: { "no such key": 1 } }));
      assert.match(String(issues[0]?.message), /unexpected property 'no such key'/);
    });
  });
}
