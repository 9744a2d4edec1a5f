import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Strict, type TSchema, Type } from "@svc/sdk";
import { HOST_SECTIONS } from "../../../host/config/host-schema.ts";
import { composeHints, type Hint } from "../../../host/config/hints.ts";
import { composeSchema } from "../../../host/config/schema.ts";

const hintsOf = (schema: TSchema): Record<string, Hint> =>
  composeHints(composeSchema([{ section: "notes", plugin: "notes", schema }]));

describe("hints for forms", () => {
  it("take label, help, group, order, advanced, sensitive, placeholder and tags from the schema", () => {
    const given = { group: "Access", order: 7, advanced: true, sensitive: true, placeholder: "abc" };
    const key = Type.String({ title: "The key", description: "What it is for", tags: ["storage"], ...given });
    const hints = hintsOf(Strict({ key }, { title: "My notes", order: 55 }));
    assert.deepEqual(hints["notes"], { label: "My notes", group: "My notes", order: 55 });
    const tags = ["security", "storage", "advanced"];
    assert.deepEqual(hints["notes.key"], { label: "The key", help: "What it is for", ...given, tags });
  });

  it("are otherwise derived from the words of the key, the section, the position and secret names", () => {
    const hints = hintsOf(Strict({ first: Type.Integer(), someApiKey: Type.String(), maxTokens: Type.Integer() }));
    assert.deepEqual(hints["notes.first"], { label: "First", group: "Notes", order: 1 });
    const secret = { sensitive: true, tags: ["security"] };
    assert.deepEqual(hints["notes.someApiKey"], { label: "Some Api Key", group: "Notes", order: 2, ...secret });
    assert.equal(hints["notes.maxTokens"]?.sensitive, undefined);
  });

  it("name map entries, items and members of a union", () => {
    const pin = (options: object = {}) => Type.Object({ pin: Type.String({ sensitive: true, ...options }) });
    const hints = hintsOf(
      Strict({
        byName: Type.Record(Type.String(), pin({ description: "A pin" })),
        list: Type.Array(pin()),
        either: Type.Union([Type.Null(), pin()]),
        open: Type.Object({}, { additionalProperties: pin() }),
        plainToken: Type.String({ sensitive: false }),
      }),
    );
    for (const path of ["byName.*.pin", "list[].pin", "either.pin", "open.*.pin"])
      assert.equal(hints[`notes.${path}`]?.sensitive, true, path);
    assert.equal(hints["notes.byName.*.pin"]?.help, "A pin");
    assert.equal(hints["notes.plainToken"]?.sensitive, false);
  });

  it("do not hide an object or a list as a whole because of its name", () => {
    const hints = hintsOf(Strict({ secrets: Strict({ mode: Type.Boolean() }), tokens: Type.Array(Type.String()) }));
    assert.deepEqual([hints["notes.secrets"]?.sensitive, hints["notes.tokens"]?.sensitive], [undefined, undefined]);
  });

  it("exist for every key of the host, with label, group and order; secrets are marked", () => {
    const hints = composeHints(composeSchema([]));
    const keys = (schema: unknown, path: string): string[] => {
      const { properties = {} } = schema as { properties?: Record<string, unknown> };
      return [path, ...Object.entries(properties).flatMap(([key, child]) => keys(child, `${path}.${key}`))];
    };
    const all = Object.entries(HOST_SECTIONS).flatMap(([section, schema]) => keys(schema, section));
    assert.ok(all.length > 10);
    for (const path of all) {
      const { label, group, order } = hints[path] ?? {};
      assert.ok(label && group && typeof order === "number", path);
    }
    assert.deepEqual([hints["gateway"]?.order, hints["plugins"]?.order, hints["logging"]?.order], [30, 205, 900]);
    assert.equal(hints["gateway.auth.token"]?.sensitive, true);
    assert.deepEqual(hints["gateway.port"]?.tags, ["network"]);
  });

  it("survive a schema with odd keys", () => {
    const hints = hintsOf(Type.Object(JSON.parse('{"__proto__": {"type": "string", "sensitive": true}}')));
    assert.equal(({} as Record<string, unknown>)["sensitive"], undefined);
    assert.ok(hints["notes.__proto__"]);
  });
});
