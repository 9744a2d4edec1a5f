import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { EXIT, refuse, reportFailure, table } from "../../../host/cli/output.ts";

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

describe("a refusal", () => {
  it("is a line of text, and one value with --json", () => {
    const told: unknown[] = [];
    const output = (json: boolean) => ({
      json,
      print: (value: unknown) => void told.push({ value }),
      note: (line: string) => void told.push({ line }),
    });
    assert.equal(refuse("no", output(false)), EXIT.refused);
    assert.equal(refuse("no", output(true), EXIT.usage), EXIT.usage);
    assert.deepEqual(told, [{ line: "no" }, { value: { ok: false, error: { code: "LOCAL", message: "no" } } }]);
  });

  it("for an internal error suggests the log, and for any other error the help of the verb", (t) => {
    const written: unknown[] = [];
    t.mock.method(process.stderr, "write", (text: unknown) => written.push(text));
    const output = { json: false, print: () => undefined, note: () => undefined };
    reportFailure(new GatewayError("INTERNAL", "internal error (b09b)"), output, "svc x --help");
    reportFailure(new GatewayError("NOT_FOUND", "no y"), output, "svc x --help");
    t.mock.restoreAll();
    assert.deepEqual(written, [
      "INTERNAL: internal error (b09b)\nNext: svc logs --level error\n",
      "NOT_FOUND: no y\nNext: svc x --help\n",
    ]);
  });
});
