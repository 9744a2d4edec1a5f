import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { table } from "../../../host/cli/output.ts";

describe("a table", () => {
  const rows: [why: string, cells: string[][], text: string][] = [
    [
      "columns as wide as their widest cell",
      [
        ["A", "B"],
        ["long", "x"],
      ],
      "A     B\nlong  x",
    ],
    [
      "no blanks at the end of a line",
      [
        ["A", "B"],
        ["x", ""],
      ],
      "A  B\nx",
    ],
    ["a header alone", [["A", "B"]], "A  B"],
    ["nothing", [], ""],
  ];
  for (const [why, cells, text] of rows) it(why, () => assert.equal(table(cells), text));
});
