import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { schemaAt } from "../../../../host/cli/config/schema-at.ts";

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

describe("the schema of one path", () => {
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
