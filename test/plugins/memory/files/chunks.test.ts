import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chunksOf as cut, linesOf, tokensOf } from "../../../../plugins/memory/files/chunks.ts";

const CHUNKING = { tokens: 400, overlap: 80 };
const chunksOf = (text: string) => cut(text, CHUNKING);

/** A line of about 25 tokens that contains its number. */
const line = (number: number) => `line ${number} ${"word ".repeat(18)}`.trim();
const lines = (count: number) => Array.from({ length: count }, (_, index) => line(index + 1));

describe("chunks", () => {
  /** Chunks as `<first line>-<last line> <heading>`. */
  const cases: [what: string, text: string, chunks: string[]][] = [
    ["nothing", "", []],
    ["blank lines only", " \n\n\t\n", []],
    ["a text without headings", "one\ntwo", ["1-2 "]],
    ["blank lines around a text", "\n\none\n\n", ["3-3 "]],
    ["Windows line ends", "# A\r\none\r\n# B\r\ntwo", ["1-2 A", "3-4 B"]],
    ["a section each", "intro\n# A\none\n## B\ntwo\n# C\nthree", ["1-1 ", "2-3 A", "4-5 A > B", "6-7 C"]],
    ["levels that are left out", "### Deep\none\n# Top\ntwo", ["1-2 Deep", "3-4 Top"]],
    ["# inside a fence", "# A\n```sh\n# no heading\n~~~\n# neither\n```\n# B", ["1-6 A", "7-7 B"]],
    ["# without a space", "#tag\none", ["1-2 "]],
    ["a fence that is never closed", "# A\n```\n# none", ["1-3 A"]],
  ];
  for (const [what, text, expected] of cases) {
    it(`of ${what}`, () => {
      const found = chunksOf(text);
      assert.deepEqual(
        found.map(({ startLine, endLine, heading }) => `${startLine}-${endLine} ${heading}`),
        expected,
      );
      const all = linesOf(text);
      for (const { startLine, endLine, text: part } of found)
        assert.equal(part, all.slice(startLine - 1, endLine).join("\n"));
    });
  }

  it("of a long section fit, overlap and miss no line", () => {
    const all = lines(60);
    const chunks = chunksOf(all.join("\n"));
    assert.ok(chunks.length > 3);
    for (const [index, chunk] of chunks.entries()) {
      assert.ok(tokensOf(chunk.text) <= CHUNKING.tokens, `chunk ${index} fits`);
      const next = chunks[index + 1];
      if (!next) continue;
      assert.ok(next.startLine <= chunk.endLine, "the next one begins inside of it");
      const shared = all.slice(next.startLine - 1, chunk.endLine).join("\n");
      assert.ok(tokensOf(shared) <= CHUNKING.overlap, "not with much of it");
    }
    assert.equal(chunks.at(-1)?.endLine, 60);
  });

  it("end with a paragraph where that leaves at least half of one", () => {
    const text = [...lines(10), "", ...lines(10)].join("\n");
    assert.equal(chunksOf(text)[0]?.endLine, 10);
  });

  it("of a line longer than a chunk have its line number", () => {
    const chunks = chunksOf(`# A\n${"x".repeat(5_000)}\nend`);
    assert.deepEqual(
      chunks.map(({ startLine, endLine, text }) => `${startLine}-${endLine} ${text.length}`),
      ["1-1 3", "2-2 1600", "2-2 1600", "2-2 1600", "2-2 200", "3-3 3"],
    );
  });

  it("between long lines do not multiply", () => {
    const long = "word ".repeat(310);
    const text = Array.from({ length: 20 }, (_, index) => `short ${index}\nshorter\n${long}`).join("\n");
    assert.ok(chunksOf(text).length <= 60);
  });
});
