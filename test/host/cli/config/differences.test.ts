import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeDifference, differences } from "../../../../host/cli/config/differences.ts";

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
