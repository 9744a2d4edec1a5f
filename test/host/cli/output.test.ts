import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { EXIT, refuse, reportFailure, table } from "../../../host/cli/output.ts";
import { wrap } from "../../../host/cli/wrap.ts";

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

  it("for an internal error suggests the log, for a refused configuration what is wrong with it, for any other error the help of the verb", (t) => {
    const written: unknown[] = [];
    t.mock.method(process.stderr, "write", (text: unknown) => written.push(text));
    const output = { json: false, print: () => undefined, note: () => undefined };
    reportFailure(new GatewayError("INTERNAL", "internal error (b09b)"), output, "svc x --help");
    reportFailure(new GatewayError("NOT_FOUND", "no y"), output, "svc x --help");
    const unset = { path: "a.key", message: "environment variable KEY is not set or empty" };
    for (const issue of [unset, { path: "b[0].c", message: "expected string" }, { path: "", message: "no JSON5" }]) {
      const refused = new GatewayError("INVALID_REQUEST", "invalid config", { details: { issues: [issue] } });
      reportFailure(refused, output, "svc x --help");
    }
    t.mock.restoreAll();
    assert.deepEqual(written, [
      "INTERNAL: internal error (b09b)\nNext: svc logs --level error\n",
      "NOT_FOUND: no y\nNext: svc x --help\n",
      "INVALID_REQUEST: invalid config\na.key: environment variable KEY is not set or empty\nNext: export KEY=..., here and where the gateway is started\n",
      "INVALID_REQUEST: invalid config\nb[0].c: expected string\nNext: svc config schema 'b[0].c'\n",
      "INVALID_REQUEST: invalid config\n(file): no JSON5\nNext: svc config validate\n",
    ]);
  });
});

describe("help and messages on a narrow terminal", () => {
  const rows: [why: string, text: string, columns: number | undefined, expected: string][] = [
    ["break between words", "one two three four", 9, "one two\nthree\nfour"],
    ["keep the indent", "  one two three", 10, "  one two\n  three"],
    [
      "keep their columns",
      "  doctor    What is wrong with this",
      24,
      "  doctor    What is\n            wrong with\n            this",
    ],
    ["keep a word that is longer than a line", "a https://example.org/long b", 10, "a\nhttps://example.org/long\nb"],
    ["are left alone in a pipe", "one two three four", undefined, "one two three four"],
    ["are left alone where they fit", "one\n\ntwo", 3, "one\n\ntwo"],
  ];
  for (const [why, text, columns, expected] of rows) it(why, () => assert.equal(wrap(text, columns ?? 0), expected));
});
