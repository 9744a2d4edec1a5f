import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AS_OF, TABLE } from "../../../plugins/model-facts/table.ts";

const rows = TABLE.split("\n").map((line) => line.split(" "));
const unknown = (column: string | undefined) => column === "-";

describe("the table of public facts", () => {
  it("has a day", () => {
    assert.match(AS_OF, /^20\d\d-\d\d-\d\d$/u);
    assert.ok(Date.parse(AS_OF) > Date.UTC(2026, 0, 1) && !Number.isNaN(Date.parse(AS_OF)));
  });

  it("is sorted, without duplicates, and covers the usual providers", () => {
    const names = rows.map(([provider, id]) => `${provider} ${id}`);
    assert.deepEqual(names, [...new Set(names)].sort());
    assert.ok(names.length >= 80 && names.length <= 200, String(names.length));
    const providers = new Set(rows.map(([provider]) => provider));
    for (const name of [
      "amazon-bedrock",
      "anthropic",
      "deepseek",
      "google",
      "groq",
      "mistral",
      "openai",
      "openrouter",
      "xai",
    ])
      assert.ok(providers.has(name), name);
  });

  it("has one preferred model for each provider that has current ones", () => {
    for (const provider of new Set(rows.map(([name]) => name))) {
      const own = rows.filter(([name, , , , traits]) => name === provider && !traits?.includes("o"));
      const preferred = own.filter(([, , , , traits]) => traits?.includes("p"));
      assert.equal(preferred.length, own.length === 0 ? 0 : 1, provider);
    }
  });

  for (const row of rows) {
    it(`is plausible: ${row.slice(0, 2).join(" ")}`, () => {
      const [, , window, limit, traits, ...prices] = row;
      assert.ok(row.length === 9 || row.length === 14, "9 columns, or 14 with prices of long prompts");
      for (const column of [window, limit]) if (!unknown(column)) assert.match(column ?? "", /^[1-9]\d{3,6}$/u);
      if (!unknown(window) && !unknown(limit)) assert.ok(Number(limit) <= Number(window));
      assert.match(traits ?? "", /^(?:-|t?i?d?r?x?p?o?)$/u);
      for (const part of [prices.slice(0, 4), prices.slice(5)]) {
        if (part.every(unknown)) continue;
        const [input = Number.NaN, output = Number.NaN, read = Number.NaN, write = Number.NaN] = part.map(Number);
        assert.ok(input > 0 && output >= input && output < 1_000, part.join(" "));
        assert.ok(read > 0 && read <= input && write >= 0 && write <= input * 1.3, part.join(" "));
      }
      if (row.length === 14) {
        assert.ok(Number(prices[4]) > 10_000 && Number(prices[4]) < Number(window));
        assert.ok(Number(prices[5]) > Number(prices[0]));
      }
    });
  }
});
