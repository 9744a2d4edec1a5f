/** Text that others wrote, as commands print it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cut, table, time, visible, visibleLines } from "@svc/sdk/cli";

describe("text for a terminal", () => {
  const steering: [name: string, text: string, shown: string][] = [
    ["escape sequences", "a\u001b[2Jb", String.raw`a\u001b[2Jb`],
    ["eight-bit escapes", "\u009b2J", String.raw`\u009b2J`],
    ["line feeds, returns and tabs", "a\n\r\tb", String.raw`a\u000a\u000d\u0009b`],
    ["what turns the direction of writing", "\u202eevil\u2066", String.raw`\u202eevil\u2066`],
    ["a joiner that joins no pictures", "😀\u200dadmin", String.raw`😀\u200dadmin`],
    ["what cannot be seen", "a\u200bd\ufeffmin", String.raw`a\u200bd\ufeffmin`],
  ];
  for (const [name, text, shown] of steering) {
    it(`makes ${name} visible`, () => assert.equal(visible(text), shown));
  }

  /** Ranges of code points. */
  const INVISIBLE = `00-08 0b-1f 7f-9f ad-ad 34f-34f 61c-61c 115f-1160 180b-180f 200b-200f 2028-202e 2060-206f 3164-3164
    fe00-fe0f feff-feff ffa0-ffa0 fff9-fffb e0000-e01ef`;
  it("makes every character visible that nobody sees", () => {
    for (const range of INVISIBLE.split(/\s+/)) {
      const [first = 0, last = 0] = range.split("-").map((code) => Number.parseInt(code, 16));
      for (let code = first; code <= last; code++) {
        const char = String.fromCodePoint(code);
        for (const shown of [visible(`a${char}b`), visibleLines(`a${char}b`)]) {
          assert.match(shown, /^a(?:\\u[0-9a-f]{4}){1,2}b$/u, code.toString(16));
          assert.equal(JSON.parse(`"${shown}"`), `a${char}b`, "as JSON it means the same");
        }
      }
    }
  });

  for (const text of ["Adas Büro 😀 שלום", "❤️", "👨‍👩‍👧", "🏳️‍🌈", "👩🏽‍🚀"])
    it(`leaves ${text} alone`, () => assert.deepEqual([visible(text), visibleLines(text)], [text, text]));

  it("keeps line feeds and tabs where lines are meant", () =>
    assert.equal(visibleLines("a\tb\r\nc\u202e\n"), "a\tb\nc\\u202e\n"));

  const lengths: [text: string, max: number, mark: string | undefined, shown: string][] = [
    ["abc", 3, undefined, "abc"],
    ["abcd", 3, undefined, "ab…"],
    ["a😀bc", 3, undefined, "a…"],
    ["abcd", 3, "", "abc"],
    ["a😀", 2, "", "a"],
    ["a😀b", 3, "", "a😀"],
    ["abc", 0, "", ""],
    ["abcdefgh", 6, " (8)", "ab (8)"],
  ];
  for (const [text, max, mark, shown] of lengths)
    it(`cuts ${text} to ${max}, between characters: ${shown}`, () => assert.equal(cut(text, max, mark), shown));

  it("stands in columns, without spaces at the ends of lines", () => {
    const rows = [
      ["a", "bcd", "e"],
      ["fgh", "i", ""],
    ];
    assert.deepEqual(table(rows), ["a    bcd  e", "fgh  i"]);
    assert.deepEqual(table([]), []);
  });

  it("tells times in UTC, and what is none as it is", () => {
    assert.equal(time(Date.UTC(2026, 0, 31, 12, 0, 0, 5)), "2026-01-31 12:00:00Z");
    assert.equal(time(9e15), "9000000000000000");
  });
});
