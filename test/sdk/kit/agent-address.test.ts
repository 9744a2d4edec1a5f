/** Ids of agents and accounts. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { normalizeId } from "@svc/kit/agent-address";

describe("normalizeId", () => {
  const rows: [given: string | undefined, id: string][] = [
    ["Ada Lovelace", "ada-lovelace"],
    [" My Account! ", "my-account"],
    [" _x_ ", "x_"],
    ["--x--", "x"],
    ["--", "default"],
    ["", "default"],
    [undefined, "default"],
    ["x".repeat(80), "x".repeat(64)],
  ];
  for (const [given, id] of rows)
    it(`makes ${id.slice(0, 12)} of ${JSON.stringify(given)?.slice(0, 20)}`, () =>
      assert.equal(normalizeId(given, "default"), id));

  it("makes main of nothing unless told otherwise", () => assert.equal(normalizeId(""), "main"));
});
