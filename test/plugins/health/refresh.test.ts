import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { createHealthRefresh, MAX_AGE_MS } from "../../../plugins/health/refresh.ts";
import { type Health, healthSummary } from "../../../plugins/health/summary.ts";

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

function open() {
  const clock = createFakeClock();
  const scene = { made: 0, published: [] as Health[], failures: [] as unknown[], broken: false };
  const refresh = createHealthRefresh({
    clock,
    async summarise() {
      scene.made++;
      await settle();
      if (scene.broken) throw new Error("storage is away");
      return healthSummary({ gateway: { missingPlugins: () => [] }, sessions: undefined, agents: undefined }, clock);
    },
    publish: (health) => void scene.published.push(health),
    failed: (error) => void scene.failures.push(error),
  });
  return { scene, clock, refresh };
}

describe("the health refresh", () => {
  it("creates one summary for concurrent calls, and publishes it once", async () => {
    const { scene, refresh } = open();
    const answers = await Promise.all([refresh.get(false), refresh.get(true), refresh.get(false)]);
    assert.deepEqual([scene.made, scene.published.length], [1, 1]);
    assert.ok(answers.every((answer) => answer === scene.published[0]));
    assert.equal(refresh.last, scene.published[0]);
  });

  it("returns the cached summary for a minute and refreshes in the background", async () => {
    const { scene, clock, refresh } = open();
    const first = await refresh.get(false);
    await clock.advance(30_000);
    assert.equal(await refresh.get(false), first);
    await settle();
    await settle();
    assert.equal(scene.made, 2);
    await clock.advance(MAX_AGE_MS);
    assert.notEqual(await refresh.get(false), scene.published[1]);
    assert.equal(scene.made, 3);
  });

  it("creates a new one on request, even if the last is fresh", async () => {
    const { refresh } = open();
    const first = await refresh.get(false);
    assert.notEqual(await refresh.get(true), first);
  });

  it("turns 2,000 requests at once into two refreshes", async () => {
    const { scene, clock, refresh } = open();
    for (let n = 0; n < 2_000; n++) refresh.request();
    await clock.advance(999);
    await settle();
    assert.equal(scene.made, 1);
    await clock.advance(1);
    await clock.advance(5_000);
    assert.equal(scene.made, 2);
  });

  it("fails with UNAVAILABLE, reports background failures, and recovers", async () => {
    const { scene, clock, refresh } = open();
    scene.broken = true;
    await assert.rejects(refresh.get(false), { code: "UNAVAILABLE" });
    await clock.advance(2_000);
    refresh.request();
    await settle();
    await settle();
    assert.equal(scene.failures.length, 1);
    scene.broken = false;
    assert.equal((await refresh.get(false)).ok, true);
  });

  it("does nothing after it was stopped", async () => {
    const { scene, clock, refresh } = open();
    await refresh.get(false);
    refresh.request();
    refresh.stop();
    refresh.stop();
    await clock.advance(10_000);
    assert.equal(scene.made, 1);
  });
});
