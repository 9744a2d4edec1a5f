/** Text that others wrote, as commands print it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cut, table, time, visible } from "@svc/sdk/cli";

describe("text for a terminal", () => {
  const steering: [name: string, text: string, shown: string][] = [
    ["escape sequences", "a\u001b[2Jb", String.raw`a\u001b[2Jb`],
    ["eight-bit escapes", "\u009b2J", String.raw`\u009b2J`],
    ["line feeds, returns and tabs", "a\n\r\tb", String.raw`a\u000a\u000d\u0009b`],
    ["what turns the direction of writing", "\u202eevil\u2066", String.raw`\u202eevil\u2066`],
    ["what cannot be seen", "a\u200bd\ufeffmin", String.raw`a\u200bd\ufeffmin`],
  ];
  for (const [name, text, shown] of steering) {
    it(`makes ${name} visible`, () => assert.equal(visible(text), shown));
  }

  it("leaves letters of all kinds alone", () => assert.equal(visible("Adas Büro 😀 שלום"), "Adas Büro 😀 שלום"));

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
