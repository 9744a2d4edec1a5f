/** Large JSON from clients. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HoldsTooMuch, parseLarge } from "../../../host/net/json.ts";

async function parse(json: Buffer | string): Promise<{ value: unknown; turns: number }> {
  let turns = 0;
  const value = await parseLarge(Buffer.from(json), async () => void turns++);
  return { value, turns };
}

describe("large JSON", () => {
  it("is read in several turns, and no character is split", async () => {
    const text = `${"ä世🌍".repeat(200_000)}"\\`;
    for (const before of ["", "a", "aa", "aaa"]) {
      const { value, turns } = await parse(JSON.stringify([before + text]));
      assert.ok((value as string[])[0] === before + text);
      assert.ok(turns > 2);
    }
  });

  it("is refused when it is not JSON, UTF-8 or not", async () => {
    await assert.rejects(parse(Buffer.alloc(2_000_000, 0x80)), SyntaxError);
    await assert.rejects(parse('{"a":'), SyntaxError);
  });

  const list = (count: number) => `[${"1,".repeat(count - 1)}1]`;
  const dictionary = (count: number) => `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(",")}}`;
  const rows: [what: string, json: string, refused: boolean][] = [
    ["199,000 elements", list(199_000), false],
    ["200,001 elements", list(200_001), true],
    ["49,000 keys", dictionary(49_000), false],
    ["51,000 keys", dictionary(51_000), true],
    ["lists in lists", "[".repeat(200_001), true],
    ["a number of 6,000,000 digits", "9".repeat(6_000_000), false],
    ["a number of 7,000,000 digits", "9".repeat(7_000_000), true],
    ["white space", `[${" ".repeat(7_000_000)}]`, true],
    ["a text of commas and brackets", JSON.stringify(`,[{:"\\`.repeat(300_000)), false],
  ];
  for (const [what, json, refused] of rows) {
    it(`${refused ? "is refused" : "is accepted"}: ${what}`, async () => {
      if (refused) await assert.rejects(parse(json), HoldsTooMuch);
      else assert.deepEqual((await parse(json)).value, JSON.parse(json));
    });
  }
});
