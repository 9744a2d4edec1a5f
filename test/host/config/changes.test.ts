import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Strict, Type } from "@svc/sdk";
import { changedKeys, reloadKindOf, reloadKinds, strongest } from "../../../host/config/changes.ts";
import { HOST_SECTIONS } from "../../../host/config/host-schema.ts";

describe("changedKeys", () => {
  const rows: [why: string, before: unknown, after: unknown, paths: string[]][] = [
    ["nothing", { a: { b: [1] } }, { a: { b: [1] } }, []],
    ["the order of keys", { a: 1, b: 2 }, { b: 2, a: 1 }, []],
    ["a value", { a: { b: 1, c: 1 } }, { a: { b: 2, c: 1 } }, ["a.b"]],
    ["a list, as a whole", { a: { l: [1, { x: 1 }] } }, { a: { l: [1, { x: 2 }] } }, ["a.l"]],
    ["a section that came: its keys", {}, { a: { b: 1, c: { d: 1 } } }, ["a.b", "a.c.d"]],
    ["a section that went: its keys", { a: { b: 1 } }, {}, ["a.b"]],
    ["an empty section that came", {}, { a: {} }, ["a"]],
    ["an object instead of text", { a: "x" }, { a: { b: 1 } }, ["a"]],
    ["null instead of an object", { a: { b: 1 } }, { a: null }, ["a"]],
    ["null that came", {}, { a: null }, ["a"]],
    ["a list instead of an object", { a: {} }, { a: [] }, ["a"]],
    ["a key like a prototype's", {}, JSON.parse('{"__proto__": {"x": 1}, "toString": 1}'), ["__proto__.x", "toString"]],
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

  it("exists for every key of the host", () => {
    for (const [name, schema] of Object.entries(HOST_SECTIONS))
      for (const key of Object.keys(schema.properties))
        assert.ok(["hot", "plugin", "restart"].includes(reloadKindOf([name, key], schema)), `${name}.${key}`);
  });

  it("of several is the strongest", () => {
    assert.equal(strongest([]), undefined);
    assert.equal(strongest(["hot", "plugin", "hot"]), "plugin");
    assert.equal(strongest(["plugin", "restart", "hot"]), "restart");
  });
});
