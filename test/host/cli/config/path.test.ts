import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatPath, parsePath, type Path, placeIn, valueAt } from "../../../../host/cli/config/path.ts";

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
