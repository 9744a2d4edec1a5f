/** Pages of a file, passages that are replaced, and what kind of file bytes are. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sniffImage } from "@svc/kit/media";
import { textOfBytes } from "../../../plugins/workspace/files/content.ts";
import { MAX_CHARS, MAX_LINES, pageOf, type PageRequest } from "../../../plugins/workspace/files/page.ts";
import { replaced } from "../../../plugins/workspace/files/replace.ts";

describe("a page of a file", () => {
  const five = "a\nb\nc\nd\ne\n";
  const cases: [what: string, text: string, request: PageRequest, isCut: boolean, expected: string][] = [
    ["all of it, as it is", five, {}, false, five],
    ["all of it without a last line end", "a\nb", {}, false, "a\nb"],
    ["nothing of an empty file", "", {}, false, "[the file is empty]"],
    ["the first lines", five, { limit: 2 }, false, "a\nb\n[lines 1 to 2 of 5; continue with offset 3]"],
    ["lines in the middle", five, { offset: 2, limit: 2 }, false, "b\nc\n[lines 2 to 3 of 5; continue with offset 4]"],
    ["the rest", five, { offset: 5 }, false, "e\n[lines 5 to 5 of 5]"],
    ["an empty line", "\n\n", { offset: 2 }, false, "\n[lines 2 to 2 of 2]"],
    ["whole lines of a file that goes on", "a\nb\nhal", {}, true, "a\nb\n[lines 1 to 2 of more than 2]"],
    ["what there is of a line that goes on", "half", {}, true, "half\n[lines 1 to 1 of more than 1]"],
  ];
  for (const [what, text, request, isCut, expected] of cases) {
    it(`is ${what}`, () => assert.equal(pageOf(text, request, isCut).text, expected));
  }

  it("has as many lines as there is room for, and at most 2000", () => {
    const long = `${"x".repeat(1_000)}\n`.repeat(100);
    const { to, truncated, text } = pageOf(long, {});
    assert.deepEqual([to, truncated], [Math.floor(MAX_CHARS / 1_001), true]);
    assert.match(text, /\[lines 1 to 49 of 100; continue with offset 50\]$/);
    assert.equal(pageOf("\n".repeat(5_000), {}).to, MAX_LINES);
  });

  it("cuts a line that is too long alone, and says so", () => {
    const { text, to } = pageOf(`${"x".repeat(MAX_CHARS + 1)}\nnext\n`, {});
    assert.equal(to, 1);
    assert.match(text, /x\n\[lines 1 to 1 of 2; line 1 is cut at 50000 characters; continue with offset 2\]$/);
  });

  it("is refused past the end", () => {
    assert.throws(() => pageOf("a\n", { offset: 2 }), { code: "INVALID_REQUEST", message: /1 lines; line 2 is past/ });
  });
});

describe("a passage that is replaced", () => {
  type Row = [what: string, text: string, oldText: string, newText: string, all: boolean, expected: string | RegExp];
  const cases: Row[] = [
    ["once", "a b c", "b", "x", false, "a x c"],
    ["over lines, line ends and all", "a\r\nb\r\n", "a\r\nb", "c", false, "c\r\n"],
    ["everywhere", "a a a", "a", "aa", true, "aa aa aa"],
    ["by text with signs of patterns", "a", "a", "$& $1", false, "$& $1"],
    ["by nothing", "abc", "b", "", false, "ac"],
    ["where it is twice", "a a", "a", "b", false, /is in f 2 times; include more of the surrounding text/],
    ["where it overlaps itself", "aaa", "aa", "b", true, "ba"],
    ["where it is not", "abc", "B", "x", false, /is not in f; read the file/],
    ["with other line ends", "a\r\nb", "a\nb", "x", false, /is not in f/],
    ["by itself", "abc", "b", "b", false, /the same/],
    ["when it is empty", "abc", "", "b", false, /oldText is empty/],
  ];
  for (const [what, text, oldText, newText, replaceAll, expected] of cases) {
    it(what, () => {
      const change = () => replaced(text, { oldText, newText, replaceAll }, "f");
      if (typeof expected === "string") assert.equal(change().text, expected);
      else assert.throws(change, { code: "INVALID_REQUEST", message: expected });
    });
  }
});

describe("bytes of a file", () => {
  const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");
  const images: [hex: string, type: string | undefined][] = [
    ["89504e470d0a1a0a00", "image/png"],
    ["ffd8ffe000104a46", "image/jpeg"],
    ["474946383961 0100", "image/gif"],
    ["52494646 24000000 57454250", "image/webp"],
    ["52494646 24000000 57415645", undefined],
    ["89504e47", undefined],
    ["3c737667", undefined],
    ["", undefined],
  ];
  for (const [bytes, type] of images) {
    it(`${bytes || "none"} are ${type ?? "no picture"}`, () => assert.equal(sniffImage(hex(bytes)), type));
  }

  const texts: [what: string, bytes: Buffer, isCut: boolean, text: string | undefined][] = [
    ["UTF-8", Buffer.from("aä€😀"), false, "aä€😀"],
    ["a byte order mark, which stays", Buffer.from("\ufeffa"), false, "\ufeffa"],
    ["half a character at the cut", Buffer.from("aä").subarray(0, 2), true, "a"],
    ["half a character at the end", Buffer.from("aä").subarray(0, 2), false, undefined],
    ["another encoding", Buffer.from("ä", "latin1"), false, undefined],
    ["UTF-16", Buffer.from("ab", "utf16le"), false, undefined],
    ["NUL", Buffer.from("a\0b"), false, undefined],
  ];
  for (const [what, bytes, isCut, text] of texts) {
    it(`with ${what} are ${text === undefined ? "no text" : "text"}`, () =>
      assert.equal(textOfBytes(bytes, isCut), text));
  }
});
