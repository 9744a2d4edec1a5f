import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { unifiedDiff } from "../../../../plugins/agents/versions/diff.ts";

const diff = (from: string, to: string) => unifiedDiff({ label: "a", text: from }, { label: "b", text: to });

describe("the difference of two texts", () => {
  const cases: [what: string, from: string, to: string, lines: string[]][] = [
    ["nothing for equal texts", "a\n", "a\n", []],
    ["a file that was not there", "", "a\nb\n", ["--- a", "+++ b", "@@ -0,0 +1,2 @@", "+a", "+b"]],
    ["a file that is gone", "a\n", "", ["--- a", "+++ b", "@@ -1 +0,0 @@", "-a"]],
    ["a changed line", "a\nb\nc\n", "a\nB\nc\n", ["--- a", "+++ b", "@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"]],
    [
      "a missing line end",
      "a\n",
      "a",
      ["--- a", "+++ b", "@@ -1 +1 @@", "-a", "+a", String.raw`\ No newline at end of file`],
    ],
    [
      "two changes far apart",
      "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n",
      "0\n2\n3\n4\n5\n6\n7\n8\n9\n",
      ["--- a", "+++ b", "@@ -1,4 +1,4 @@", "-1", "+0", " 2", " 3", " 4", "@@ -7,4 +7,3 @@", " 7", " 8", " 9", "-10"],
    ],
    [
      "two changes close together in one hunk",
      "1\n2\n3\n",
      "0\n2\n4\n",
      ["--- a", "+++ b", "@@ -1,3 +1,3 @@", "-1", "+0", " 2", "-3", "+4"],
    ],
  ];
  for (const [what, from, to, lines] of cases) {
    it(`shows ${what}`, () => assert.deepEqual(diff(from, to), lines.map((line) => `${line}\n`).join("")));
  }

  const texts = fc
    .array(fc.constantFrom("a\n", "b\n", "c\n", "\n", "d"), { maxLength: 40 })
    .map((parts) => parts.join(""));

  it("turns the one text into the other, read from the top", () => {
    fc.assert(fc.property(texts, texts, (from, to) => assert.equal(applied(from, diff(from, to)), to)));
  });

  const most = 20_000;
  const large: [what: string, from: string, to: string][] = [
    ["other lines", "a\n".repeat(most), "b\n".repeat(most)],
    ["lines that repeat", "a\nb\n".repeat(most / 2), "x\n" + "b\na\na\n".repeat(most / 4)],
    ["empty lines", "\n".repeat(most), `x${"\n".repeat(most - 1)}`],
  ];
  for (const [what, from, to] of large) {
    it(`compares the largest texts there are: ${what}`, () => assert.ok(applied(from, diff(from, to)) === to));
  }

  it("refuses a text of more lines, by its name", () => {
    const refusal = { code: "INVALID_REQUEST", message: /^b has 20001 lines, .*; choose other versions$/ };
    assert.throws(() => diff("", "\n".repeat(most + 1)), refusal);
  });

  it("treats texts that differ in too many lines as replaced", () => {
    const many = (first: number) => Array.from({ length: 3_000 }, (_, at) => `${first + at}\n`).join("");
    const difference = diff(many(0), many(10_000));
    assert.equal(applied(many(0), difference), many(10_000));
    assert.match(difference, /^--- a\n\+\+\+ b\n@@ -1,3000 \+1,3000 @@\n-0\n-1\n/);
  });
});

/** Applies a difference without looking at the context for help: wrong numbers of lines fail. */
function applied(text: string, difference: string): string {
  const left = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const lines = difference.split("\n").slice(2, -1);
  const made: string[] = [];
  let read = 0;
  for (const [index, line] of lines.entries()) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$/.exec(line);
    const words = line.slice(1) + (lines[index + 1]?.startsWith("\\") ? "" : "\n");
    if (head) {
      const first = Number(head[1]) - (head[2] === "0" ? 0 : 1);
      while (read < first) made.push(left[read++] ?? "");
      assert.equal(made.length, Number(head[3]) - (head[4] === "0" ? 0 : 1));
    } else if (line.startsWith("+")) made.push(words);
    else if (!line.startsWith("\\")) {
      assert.equal(left[read], words);
      if (line.startsWith(" ")) made.push(words);
      read += 1;
    }
  }
  return [...made, ...left.slice(read)].join("");
}
