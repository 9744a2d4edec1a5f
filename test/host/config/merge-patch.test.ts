/** Spec: protocol/methods-config.md §3, RFC 7396. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { applyEdits, dropInherited, mergePatch } from "../../../host/config/merge-patch.ts";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** RFC 7396 §2 verbatim, without merging of lists by id. */
function reference(target: Json, patch: Json): Json {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const result: { [key: string]: Json } =
    typeof target === "object" && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = reference(result[name] ?? null, value);
  }
  return result;
}

describe("a merge patch", () => {
  const [x, y] = [{ id: "x" }, { id: "y" }];
  const rows: [why: string, target: Json, patch: Json, expected: Json][] = [
    ["sets a key", { a: 1 }, { b: 2 }, { a: 1, b: 2 }],
    ["deletes by null", { a: 1, b: { c: 1, d: 1 } }, { a: null, b: { c: null } }, { b: { d: 1 } }],
    ["drops null in a new object", {}, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
    ["replaces text by an object", { a: "x" }, { a: { b: 1 } }, { a: { b: 1 } }],
    ["replaces an object by text", { a: { b: 1 } }, { a: "x" }, { a: "x" }],
    ["replaces a list", { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ["keeps null inside a list", { a: [1] }, { a: [null] }, { a: [null] }],
    [
      "merges entries by id",
      { a: [{ id: "x", p: 1, q: 1 }, y] },
      { a: [{ id: "x", p: 2, q: null }] },
      { a: [{ id: "x", p: 2 }, y] },
    ],
    [
      "appends new ids and entries without",
      { a: [x] },
      { a: [{ id: "y", n: null }, { b: 1 }, 7] },
      { a: [x, y, { b: 1 }, 7] },
    ],
    ["cannot remove an entry of such a list", { a: [x] }, { a: [] }, { a: [x] }],
    ["can remove such a list", { a: [x] }, { a: null }, {}],
    ["replaces a list with one entry without id", { a: [x, {}] }, { a: [y] }, { a: [y] }],
    ["replaces a list with an empty id", { a: [{ id: "" }] }, { a: [y] }, { a: [y] }],
    ["replaces a list with a number as id", { a: [{ id: 1 }] }, { a: [y] }, { a: [y] }],
    ["replaces an empty list", { a: [] }, { a: [y] }, { a: [y] }],
    [
      "merges an id given twice into one",
      { a: [x] },
      {
        a: [
          { ...y, p: 1 },
          { ...y, q: 2 },
        ],
      },
      { a: [x, { ...y, p: 1, q: 2 }] },
    ],
  ];
  for (const [why, target, patch, expected] of rows) {
    it(why, () => {
      const before = structuredClone({ target, patch });
      assert.deepEqual(mergePatch(target, patch), expected);
      assert.deepEqual({ target, patch }, before, "the arguments are not modified");
    });
  }

  it("that replaces lists also replaces those with ids, at any depth", () => {
    const patch = { a: { l: [y] }, m: [] };
    assert.deepEqual(mergePatch({ a: { l: [x, y], k: 1 }, m: [x] }, patch, true), { a: { l: [y], k: 1 }, m: [] });
  });

  it("ignores prototype keys at any depth, and keeps the target's values under such names", () => {
    const patch = JSON.parse(
      '{"__proto__": {"p": 1}, "constructor": {"prototype": {"p": 1}}, "a": {"__proto__": {"p": 1}, "x": 1}, "l": [{"__proto__": {"p": 1}, "prototype": 1, "y": [{"constructor": 1}]}], "m": [{"id": "1", "__proto__": {"p": 1}}]}',
    );
    const merged = mergePatch({ m: [{ id: "1" }], k: { constructor: "kept" } }, patch);
    assert.deepEqual(merged, { m: [{ id: "1" }], k: { constructor: "kept" }, a: { x: 1 }, l: [{ y: [{}] }] });
    assert.equal(({} as Record<string, unknown>)["p"], undefined);
  });

  const key = fc.constantFrom("a", "b", "c", "__proto__", "constructor", "prototype", "toString");
  const json = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.boolean()),
      fc.array(tie("tree"), { maxLength: 2 }),
      fc.array(fc.tuple(key, tie("tree")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
    ),
  })).tree as fc.Arbitrary<Json>;
  const harmless = (value: unknown): boolean => {
    if (typeof value !== "object" || value === null) return true;
    const keys = Array.isArray(value) ? [] : Object.keys(value);
    if (keys.some((name) => ["__proto__", "constructor", "prototype"].includes(name))) return false;
    return Object.values(value).every(harmless);
  };

  it("follows the RFC for every pair of harmless values", () => {
    fc.assert(
      fc.property(json.filter(harmless), json.filter(harmless), (target, patch) => {
        assert.deepEqual(mergePatch(target, patch), reference(target, patch));
      }),
      { numRuns: 1_000 },
    );
  });

  it("never touches a prototype, whatever it is given", () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const merged = mergePatch(target, patch);
        if (typeof merged === "object" && merged !== null && !Array.isArray(merged))
          assert.equal(Object.getPrototypeOf(merged), Object.prototype);
      }),
      { numRuns: 1_000 },
    );
    assert.deepEqual(Object.getOwnPropertyNames(Object.prototype), before);
  });
});

describe("a value inherited from an include", () => {
  it("is not copied into the main file", () => {
    const before = { a: { $include: "x", own: 1 } };
    const inherited = { a: { own: 1, theirs: 2, deep: { k: 1 } } };
    const next = { a: { $include: "x", own: 1, theirs: 2, deep: { k: 1, l: 2 }, fresh: 3 } };
    const expected = { a: { $include: "x", own: 1, deep: { l: 2 }, fresh: 3 } };
    assert.deepEqual(dropInherited(next, before, inherited), expected);
  });
  it("is overridden where it differs", () => {
    assert.deepEqual(dropInherited({ $include: "x", p: 2 }, { $include: "x" }, { p: 1 }), { $include: "x", p: 2 });
  });
});

describe("single edits", () => {
  const rows: [why: string, edits: { path: (string | number)[]; value?: unknown }[], expected: unknown][] = [
    ["set", [{ path: ["a", "b"], value: 2 }], { a: { b: 2 }, l: [1, 2] }],
    ["set a missing key", [{ path: ["x", "y"], value: {} }], { a: { b: 1 }, l: [1, 2], x: { y: {} } }],
    ["create a list", [{ path: ["m", 0], value: 1 }], { a: { b: 1 }, l: [1, 2], m: [1] }],
    ["remove", [{ path: ["a", "b"] }], { a: {}, l: [1, 2] }],
    ["remove a missing key", [{ path: ["x", "y"] }, { path: ["x", 3] }], { a: { b: 1 }, l: [1, 2] }],
    ["remove an item", [{ path: ["l", 0] }], { a: { b: 1 }, l: [2] }],
    ["append an item", [{ path: ["l", 2], value: 3 }], { a: { b: 1 }, l: [1, 2, 3] }],
    ["are applied in order", [{ path: ["l", 0] }, { path: ["l", 0], value: 9 }], { a: { b: 1 }, l: [9] }],
    ["set null as a value", [{ path: ["a"], value: null }], { a: null, l: [1, 2] }],
  ];
  for (const [why, edits, expected] of rows) {
    it(why, () => {
      const config = { a: { b: 1 }, l: [1, 2] };
      assert.deepEqual(applyEdits(config, edits), expected);
      assert.deepEqual(config, { a: { b: 1 }, l: [1, 2] });
    });
  }

  const refusals: [why: string, path: (string | number)[], message: RegExp][] = [
    ["no path", [], /needs the path/],
    ["a key of a number", ["a", "b", "c"], /a\.b\.c: a\.b is not an object/],
    ["a key of a list", ["l", "0"], /l\.0: l is a list/],
    ["an item of an object", ["a", 0], /a\[0\]: a is not a list/],
    ["an index after the end", ["l", 3], /l has 2 entries/],
    ["a negative index", ["l", -1], /l has 2 entries/],
    ["a prototype", ["__proto__", "x"], /cannot be a key/],
    ["a constructor", ["a", "constructor"], /cannot be a key/],
  ];
  for (const [why, path, message] of refusals) {
    const refused = { code: "INVALID_REQUEST", message };
    it(`refuse ${why}`, () =>
      assert.throws(() => applyEdits({ a: { b: 1 }, l: [1, 2] }, [{ path, value: 1 }]), refused));
  }
});
