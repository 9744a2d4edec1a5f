import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wrap } from "../../../host/cli/wrap.ts";

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
