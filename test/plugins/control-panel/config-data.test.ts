/** Data and schema of the view Configuration, without a browser. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  changesOf,
  keyLines,
  linesOf,
  patchOf,
  REDACTED,
  rebase,
  reordered,
  withValue,
} from "../../../plugins/control-panel/ui/views/config/data.ts";
import {
  kindOf,
  reachable,
  type Schema,
  search,
  variantOf,
} from "../../../plugins/control-panel/ui/views/config/schema.ts";

describe("changes of a configuration", () => {
  const rows: [why: string, before: unknown, after: unknown, patch: unknown][] = [
    ["a value", { a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, { a: { c: 3 } }],
    ["a removed key", { a: { b: 1, c: 2 } }, { a: { b: 1 } }, { a: { c: null } }],
    ["a removed group", { a: { b: 1 }, d: 1 }, { d: 1 }, { a: null }],
    ["a new group", {}, { a: { b: { c: 1 } } }, { a: { b: { c: 1 } } }],
    ["an empty group", {}, { a: {} }, { a: {} }],
    ["a list, as a whole", { a: [1, 2] }, { a: [2] }, { a: [2] }],
    ["text that becomes a group", { a: "x" }, { a: { b: 1 } }, { a: { b: 1 } }],
    ["nothing", { a: [{ b: 1 }] }, { a: [{ b: 1 }] }, {}],
  ];
  for (const [why, before, after, patch] of rows)
    it(`are written as a merge patch: ${why}`, () => assert.deepEqual(patchOf(changesOf(before, after)), patch));

  it("go on top of a newer file; keys that both changed are named", () => {
    const base = { a: 1, b: 1, c: { d: 1 } };
    const { draft, conflicts } = rebase(base, { a: 2, b: 2, c: { d: 1, e: 1 } }, { a: 3, b: 1, c: { d: 5 }, f: 1 });
    assert.deepEqual(draft, { a: 2, b: 2, c: { d: 5, e: 1 }, f: 1 });
    assert.deepEqual(conflicts, [{ path: ["a"], before: 1, mine: 2, theirs: 3 }]);
    assert.deepEqual(rebase(base, { ...base, a: 3 }, { ...base, a: 3 }).conflicts, [], "the same change");
    assert.equal(rebase(base, { ...base, c: { d: 2 } }, { a: 1, b: 1 }).conflicts.length, 1, "a removed group");
  });

  it("of an item keep the list a list", () => {
    assert.deepEqual(withValue({ a: [{ b: 1 }, 2] }, ["a", 0, "b"], 3), { a: [{ b: 3 }, 2] });
    assert.deepEqual(withValue({ a: [1, 2] }, ["a", 0], undefined), { a: [2] });
  });
});

describe("a list in another order", () => {
  it("keeps hidden secrets only where the gateway finds them again", () => {
    const byId = [
      { id: "a", key: REDACTED },
      { id: "b", key: REDACTED },
    ];
    assert.deepEqual(reordered(byId, [1, 0]), { items: [byId[1], byId[0]], lost: false });
    const byPlace = [{ key: REDACTED }, { name: "b", key: REDACTED }];
    assert.deepEqual(reordered(byPlace, [1]), { items: [{ name: "b" }], lost: true });
    assert.deepEqual(reordered(byPlace, [0]), { items: [{ key: REDACTED }], lost: false });
  });
});

it("a comparison of texts names the changed lines", () => {
  const lines = linesOf("a\nb\nc\nd", "a\nx\nc\nd\ne");
  assert.deepEqual(
    lines.map(({ kind, text, number }) => `${kind} ${number} ${text}`),
    ["same 1 a", "removed 2 b", "added 2 x", "same 3 c", "same 4 d", "added 5 e"],
  );
});

it("keys of a JSON5 text have lines, whatever stands between them", () => {
  const lines = keyLines(`// {no: 1}
{ a: { 'b': "x{,}", /* c: 1,
  */ "d": [1,
    { e: 2 }] },
  f: 3, }`);
  assert.deepEqual(Object.fromEntries(lines), {
    a: 2,
    "a.b": 2,
    "a.d": 3,
    "a.d[0]": 3,
    "a.d[1]": 3,
    "a.d[1].e": 4,
    f: 5,
  });
});

describe("a schema", () => {
  const rows: [kind: string, schema: Schema, sensitive?: boolean][] = [
    ["choice", { type: "boolean" }],
    ["choice", { anyOf: [{ const: "a" }, { enum: ["b"] }] }],
    ["number", { type: "integer" }],
    ["text", { type: "string" }],
    ["secret", { type: "string" }, true],
    ["secret", { type: ["string", "object"], properties: { source: {}, id: {} } }, true],
    ["list", { type: "array", items: { type: "string" } }],
    ["json", { type: "array", items: {} }],
    ["group", { type: "object", patternProperties: { "^.*$": {} } }],
    ["json", { type: "object" }],
    ["union", { anyOf: [{ anyOf: [{ type: "integer" }, { type: "string" }] }] }],
    ["json", {}],
  ];
  for (const [kind, schema, sensitive = false] of rows)
    it(`${JSON.stringify(schema)} is a ${kind}${sensitive ? ", when it is sensitive" : ""}`, () =>
      assert.equal(kindOf(schema, sensitive), kind));

  it("of a union knows to which member a value belongs", () => {
    const schema: Schema = { anyOf: [{ type: "integer" }, { type: "string" }, { const: false }] };
    assert.deepEqual(
      [1, "x", false, true].map((value) => variantOf(schema, value)),
      [0, 1, 2, -1],
    );
  });
});

it("the search looks at titles first, then at paths, then at descriptions", () => {
  const hints = {
    "a.*": { label: "Port" },
    "x.y": { help: "the port" },
    "x.port": { label: "Number" },
    z: { label: "Port" },
  };
  assert.deepEqual(
    search(hints, "PORT", 9).map(({ pattern }) => pattern),
    ["z", "x.port", "x.y"],
  );
  assert.deepEqual(reachable("a.b.*.c[].d"), ["a", "b"]);
});
