import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseValue } from "../../../../host/cli/config/value.ts";

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
