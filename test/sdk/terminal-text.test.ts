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

  it("cuts to a length, between characters", () => {
    assert.equal(cut("abc", 3), "abc");
    assert.equal(cut("abcd", 3), "ab…");
    assert.equal(cut("a😀bc", 3), "a…");
  });

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
