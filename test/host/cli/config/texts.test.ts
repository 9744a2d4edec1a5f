/** Pure parts of `svc config`: paths, values, the schema at a path, differences. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeDifference, differences } from "../../../../host/cli/config/differences.ts";
import { formatPath, parsePath, type Path, placeIn, valueAt } from "../../../../host/cli/config/path.ts";
import { schemaAt } from "../../../../host/cli/config/schema-at.ts";
import { parseValue } from "../../../../host/cli/config/value.ts";

describe("a configuration path", () => {
  const rows: [text: string, path: Path][] = [
    ["gateway", ["gateway"]],
    ["gateway.auth.token", ["gateway", "auth", "token"]],
    ["plugins.use[0]", ["plugins", "use", 0]],
    ["a[0][12].b", ["a", 0, 12, "b"]],
    ["plugins.use.0", ["plugins", "use", "0"]],
    ['a."b.c".d', ["a", "b.c", "d"]],
    ["a.'b.c'", ["a", "b.c"]],
    ['a["b.c"].d', ["a", "b.c", "d"]],
    ["a['[0]']", ["a", "[0]"]],
    ['"a b"', ["a b"]],
    ['a."say \\"hi\\""', ["a", 'say "hi"']],
    ['a.""', ["a", ""]],
    ["a b.c-d_e/f@g", ["a b", "c-d_e/f@g"]],
  ];
  for (const [text, path] of rows) it(text, () => assert.deepEqual(parsePath(text), path));

  const invalid = '. .a a. a..b [0] a[ a[x] a[-1] a["b" a."b a"b" a."b"] a[0]b';
  for (const text of ["", ...invalid.split(" ")]) {
    it(`is invalid: ${text || "empty"}`, () =>
      assert.throws(() => parsePath(text), { name: "WrongUsage", message: /is not a configuration path; use/ }));
  }

  it("is formatted as it can be typed", () => {
    for (const path of [["a", "b.c", 0, "d"], ["a b"], ["a", 'x"y'], ["a", ""], ["a", "0"]])
      assert.deepEqual(parsePath(formatPath(path)), path);
    assert.equal(formatPath(["plugins", "use", 0]), "plugins.use[0]");
  });
});

describe("the value at a path", () => {
  const value = { a: [{ b: 1 }], c: null, "d.e": 2 };
  const rows: [path: Path, found: unknown][] = [
    [[], value],
    [["a", 0, "b"], 1],
    [["a", "0", "b"], 1],
    [["a", 1], undefined],
    [["a", "length", "x"], undefined],
    [["c"], null],
    [["c", "x"], undefined],
    [["d.e"], 2],
    [["constructor"], undefined],
    [["__proto__"], undefined],
  ];
  for (const [path, found] of rows) it(formatPath(path), () => assert.deepEqual(valueAt(value, path), found));
});

describe("placeIn", () => {
  it("turns a number into an index for an array", () => {
    assert.deepEqual(placeIn({ a: [[1]] }, ["a", "0", "0"]), ["a", 0, 0]);
    assert.deepEqual(placeIn({ a: { 0: 1 } }, ["a", "0"]), ["a", "0"]);
    assert.deepEqual(placeIn({}, ["a", "0"]), ["a", "0"]);
    assert.deepEqual(placeIn({ a: [] }, ["a", "x"]), ["a", "x"]);
  });

  for (const key of ["__proto__", "prototype", "constructor"]) {
    it(`refuses ${key}`, () => assert.throws(() => placeIn({}, ["a", key, "b"]), { name: "WrongUsage" }));
  }
});

describe("a value on the command line", () => {
  const rows: [text: string, value: unknown][] = [
    ["19001", 19_001],
    ["-1.5", -1.5],
    ["0x10", 16],
    ["true", true],
    ["null", null],
    ["lan", "lan"],
    ["./notes", "./notes"],
    ["2026-01-01", "2026-01-01"],
    ["NaN", "NaN"],
    ["Infinity", "Infinity"],
    ["", ""],
    ["two words", "two words"],
    ["'19001'", "19001"],
    ['"a"', "a"],
    ["[1, 'b']", [1, "b"]],
    ["{a: 1,}", { a: 1 }],
    ["${NAME}", "${NAME}"],
  ];
  for (const [text, value] of rows)
    it(text || "nothing", async () => assert.deepEqual(await parseValue(text, false), value));

  for (const text of ["19001", "true", "{", "'a'"])
    it(`${text} as text`, async () => assert.equal(await parseValue(text, true), text));

  for (const text of ["{a: }", "[1", "'a", '"a'])
    it(`${text} is refused as invalid JSON5`, () =>
      assert.rejects(parseValue(text, false), { name: "WrongUsage", message: /is not JSON5: .*\nNext: .*--string/ }));
});

describe("the schema of one path", () => {
  const text = { type: "string" };
  const schema = {
    type: "object",
    properties: {
      a: { type: "object", properties: { b: text } },
      list: { type: "array", items: { type: "object", properties: { c: text } } },
      map: { type: "object", patternProperties: { "^.*$": { properties: { d: text } } } },
      open: { type: "object", additionalProperties: text },
      closed: { type: "object", additionalProperties: false },
      either: { anyOf: [{ type: "null" }, { properties: { e: text } }] },
    },
  };
  const rows: [path: (string | number)[], found: unknown][] = [
    [[], schema],
    [["a", "b"], text],
    [["list", 0, "c"], text],
    [["list", "0", "c"], text],
    [["map", "anything", "d"], text],
    [["open", "x"], text],
    [["either", "e"], text],
    [["a", "x"], undefined],
    [["closed", "x"], undefined],
    [["list", "x"], undefined],
    [["constructor"], undefined],
  ];
  for (const [path, found] of rows)
    it(path.join(".") || "everything", () => assert.deepEqual(schemaAt(schema, path), found));
});

describe("differences of two configurations", () => {
  it("are empty for equal ones", () => assert.deepEqual(differences({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), []));

  it("are listed key by key, in alphabetical order, arrays as a whole", () => {
    const left = { z: 1, a: { b: 1, c: 1 }, list: [1, 2], gone: true, same: {} };
    const right = { z: 2, a: { b: 1, c: 2 }, list: [1], added: {}, same: {} };
    assert.deepEqual(differences(left, right), [
      { path: ["a", "c"], left: 1, right: 2 },
      { path: ["added"], left: undefined, right: {} },
      { path: ["gone"], left: true, right: undefined },
      { path: ["list"], left: [1, 2], right: [1] },
      { path: ["z"], left: 1, right: 2 },
    ]);
  });

  it("include a different type", () =>
    assert.deepEqual(differences({ a: {} }, { a: [] }), [{ path: ["a"], left: {}, right: [] }]));
});

describe("a printed difference", () => {
  it("has a line for each side", () => {
    const lines = describeDifference({ path: ["a"], left: "x", right: undefined }, ["gateway", "file"]);
    assert.deepEqual(lines, ['  gateway  "x"', "  file     (not set)"]);
  });

  it("of hidden values shows neither value", () => {
    const hidden = { path: ["a"], left: "__SVC_REDACTED__", right: "__SVC_REDACTED__" };
    assert.deepEqual(describeDifference(hidden, ["a", "b"]), ["  hidden values differ (a, b)"]);
  });
});
