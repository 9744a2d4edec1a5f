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

  const invisible: [first: number, last: number][] = [
    [0x00, 0x08],
    [0x0b, 0x1f],
    [0x7f, 0x9f],
    [0xad, 0xad],
    [0x034f, 0x034f],
    [0x061c, 0x061c],
    [0x115f, 0x1160],
    [0x180b, 0x180f],
    [0x200b, 0x200f],
    [0x2028, 0x202e],
    [0x2060, 0x206f],
    [0x3164, 0x3164],
    [0xfe00, 0xfe0f],
    [0xfeff, 0xfeff],
    [0xffa0, 0xffa0],
    [0xfff9, 0xfffb],
    [0xe0000, 0xe01ef],
  ];
  it("makes every character visible that nobody sees", () => {
    for (const [first, last] of invisible)
      for (let code = first; code <= last; code++) {
        const char = String.fromCodePoint(code);
        for (const shown of [visible(`a${char}b`), visibleLines(`a${char}b`)]) {
          assert.match(shown, /^a(?:\\u[0-9a-f]{4}){1,2}b$/u, code.toString(16));
          assert.equal(JSON.parse(`"${shown}"`), `a${char}b`, "as JSON it means the same");
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
