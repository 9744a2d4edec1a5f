/** What follows from the schema: changed keys, how they are reloaded, hints for forms. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Strict, type TSchema, Type } from "@svc/sdk";
import type { ConfigHint } from "@svc/sdk/config";
import { changedKeys, reloadKindOf, reloadKinds, strongest } from "../../../host/config/changes.ts";
import { composeHints } from "../../../host/config/hints.ts";
import { HOST_SECTIONS } from "../../../host/config/host-schema.ts";
import { composeSchema } from "../../../host/config/schema.ts";

describe("changedKeys", () => {
  const rows: [why: string, before: unknown, after: unknown, paths: string[]][] = [
    ["nothing", { a: { b: [1] } }, { a: { b: [1] } }, []],
    ["the order of keys", { a: 1, b: 2 }, { b: 2, a: 1 }, []],
    ["a value", { a: { b: 1, c: 1 } }, { a: { b: 2, c: 1 } }, ["a.b"]],
    ["a list, as a whole", { a: { l: [1, { x: 1 }] } }, { a: { l: [1, { x: 2 }] } }, ["a.l"]],
    ["an added section: its keys", {}, { a: { b: 1, c: { d: 1 } } }, ["a.b", "a.c.d"]],
    ["a removed section: its keys", { a: { b: 1 } }, {}, ["a.b"]],
    ["an added empty section", {}, { a: {} }, ["a"]],
    ["an object instead of text", { a: "x" }, { a: { b: 1 } }, ["a"]],
    ["null instead of an object", { a: { b: 1 } }, { a: null }, ["a"]],
    ["an added null", {}, { a: null }, ["a"]],
    ["a list instead of an object", { a: {} }, { a: [] }, ["a"]],
    [
      "a key with the name of a prototype member",
      {},
      JSON.parse('{"__proto__": {"x": 1}, "toString": 1}'),
      ["__proto__.x", "toString"],
    ],
  ];
  for (const [why, before, after, paths] of rows) {
    const changed = changedKeys(before, after).map((path) => path.join("."));
    it(why, () => assert.deepEqual(changed, paths));
  }
});

describe("the reload kind of a change", () => {
  const section = Strict({
    hot: Type.Integer({ reload: "hot" }),
    plain: Type.Integer(),
    group: Type.Optional(
      Strict({ inherits: Type.Integer(), own: Type.Integer({ reload: "restart" }) }, { reload: "hot" }),
    ),
    map: Type.Record(Type.String(), Strict({ hot: Type.Integer({ reload: "hot" }), plain: Type.Integer() })),
    open: Type.Object({}, { additionalProperties: Type.Integer({ reload: "hot" }) }),
    either: Type.Union([Type.Null(), Strict({ x: Type.Integer({ reload: "hot" }) })]),
    list: Type.Array(Strict({ x: Type.Integer({ reload: "hot" }) })),
  });
  const rows: [path: string, kind: string][] = [
    ["notes.hot", "hot"],
    ["notes.plain", "plugin"],
    ["notes.unknown", "plugin"],
    ["notes", "plugin"],
    ["notes.group.inherits", "hot"],
    ["notes.group.inherits.deeper", "hot"],
    ["notes.group.own", "restart"],
    ["notes.map.any.hot", "hot"],
    ["notes.map.any.plain", "plugin"],
    ["notes.map.toString", "plugin"],
    ["notes.open.any", "hot"],
    ["notes.either.x", "hot"],
    ["notes.list", "plugin"],
  ];
  for (const [path, kind] of rows) it(`${path}: ${kind}`, () => assert.equal(reloadKindOf(path, section), kind));

  it("comes from the section if no key has the keyword", () => {
    assert.equal(reloadKindOf("notes.a", Type.Object({ a: Type.Integer() }, { reload: "hot" })), "hot");
    assert.equal(reloadKindOf("logging.a", Type.Object({ a: Type.Integer() })), "restart");
    assert.equal(reloadKindOf("notes.a", undefined), "hot");
    assert.equal(reloadKindOf("notes.a", Type.Object({ a: Type.Integer({ reload: "sometimes" }) })), "plugin");
  });

  it("is given per path: host, plugin, unloaded plugin, no owner", () => {
    const owners = [
      { section: "notes", plugin: "notes", schema: section },
      { section: "gone", plugin: "gone", schema: undefined },
    ];
    const before = {};
    const after = { logging: { unheard: 1 }, notes: { hot: 1, plain: 1 }, gone: { a: 1 }, typo: 1, meta: { a: 1 } };
    assert.deepEqual(Object.fromEntries(reloadKinds(changedKeys(before, after), owners)), {
      "logging.unheard": "restart",
      "notes.hot": "hot",
      "notes.plain": "plugin",
      "gone.a": "hot",
      typo: "hot",
      "meta.a": "hot",
    });
  });

  it("is hot for adding or removing an empty object of the host", () => {
    const { gateway, plugins } = HOST_SECTIONS;
    assert.equal(reloadKindOf("gateway", gateway), "hot");
    assert.equal(reloadKindOf("gateway.auth.rateLimit", gateway), "hot");
    assert.equal(reloadKindOf("plugins.entries.models", plugins), "hot");
    assert.equal(reloadKindOf("plugins.entries.models.enabled", plugins), "hot");
    assert.equal(reloadKindOf("gateway.port", gateway), "restart");
  });

  it("of several is the strongest", () => {
    assert.equal(strongest([]), undefined);
    assert.equal(strongest(["hot", "plugin", "hot"]), "plugin");
    assert.equal(strongest(["plugin", "restart", "hot"]), "restart");
  });
});

const hintsOf = (schema: TSchema): Record<string, ConfigHint> =>
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

  it("of the host have the order of its sections; its secrets are marked", () => {
    const hints = composeHints(composeSchema([]));
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
