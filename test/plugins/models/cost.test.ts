import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { costOf, priced } from "../../../plugins/models/asking/cost.ts";

const usage = { input: 1_000, output: 2_000, cacheRead: 500_000, cacheWrite: 100_000, totalTokens: 603_000 };
const price = { input: 3, output: 15, cacheRead: 0.25, cacheWrite: 4 };
const finish = { type: "finish", reason: "stop", usage } as const;

describe("the cost of an answer", () => {
  it("is computed for each kind of token, per million", () => {
    const { total, ...kinds } = costOf(usage, price);
    assert.deepEqual(kinds, { input: 0.003, output: 0.03, cacheRead: 0.125, cacheWrite: 0.4 });
    assert.ok(Math.abs(total - 0.558) < 1e-12);
  });

  it("is added to the finish event", () => {
    assert.deepEqual(priced(finish, { cost: price }), { ...finish, usage: { ...usage, cost: costOf(usage, price) } });
  });

  it("is zero for a free model and absent for an unknown price", () => {
    const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const told = priced(finish, { cost: free });
    assert.equal(told.type === "finish" && told.usage?.cost?.total, 0);
    assert.equal(priced(finish, {}), finish);
  });

  it("is not changed if the provider reports it", () => {
    const own = { ...finish, usage: { ...usage, cost: { ...price, total: 1 } } };
    assert.equal(priced(own, { cost: price }), own);
  });
});
