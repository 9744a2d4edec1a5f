import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Latency } from "../../../host/kernel/latency.ts";

function latencyOf(...times: readonly number[]): Latency {
  const latency = new Latency();
  for (const ms of times) latency.record(ms);
  return latency;
}

/** From zero to more than the largest class. */
const TIMES = [0, 1e-9, 0.0004, 0.001, 0.1, 0.99, 1, 1.01, 7, 64, 999, 12_345, 1e6, 1e9, Number.MAX_VALUE];

describe("latency", () => {
  it("has no quantile before anything was recorded", () => assert.equal(latencyOf().quantile(0.5), null));

  for (const ms of TIMES) {
    it(`returns exactly ${ms} ms if it is the only record`, () => {
      const { count, sum, max } = latencyOf(ms);
      assert.deepEqual([count, sum, max, latencyOf(ms).quantile(0.99)], [1, ms, ms, ms]);
    });
  }

  it("never returns less than the exact quantile, and at most an eighth more", () => {
    let seed = 7;
    const times = Array.from({ length: 5_000 }, () => {
      seed = (seed * 16_807) % 2_147_483_647;
      return 10 ** ((seed / 2_147_483_647) * 6 - 2); // 0.01 ms to 10 s
    });
    const latency = latencyOf(...times);
    const sorted = times.toSorted((left, right) => left - right);
    for (const share of [0.01, 0.5, 0.9, 0.99, 0.999, 1]) {
      const exact = sorted[Math.ceil(times.length * share) - 1] ?? assert.fail("no such place");
      const told = latency.quantile(share) ?? assert.fail("nothing was recorded");
      assert.ok(told >= exact && told <= exact * 1.125, `${share}: ${exact} was told as ${told}`);
    }
  });

  it("counts durations below a power of two, which is excluded", () => {
    const latency = latencyOf(0.4, 0.5, 1, 1.9, 2, 4, 1e9);
    const counts = [-11, -1, 0, 1, 2, 3, 20].map((exponent) => latency.countBelow(exponent));
    assert.deepEqual(counts, [0, 1, 2, 4, 5, 6, 6]);
  });
});
