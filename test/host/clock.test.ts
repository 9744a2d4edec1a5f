import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { settled, systemClock, within } from "../../host/clock.ts";
import { createFakeClock } from "../../sdk/testing/fake-clock.ts";

describe("the clock", () => {
  it("does not fire immediately for a wait longer than the maximum timer", async () => {
    let isOver = false;
    const cancel = systemClock.setTimeout(() => (isOver = true), 2 ** 31 + 5);
    await pause(20);
    cancel();
    assert.equal(isOver, false);
  });

  it("limits waits: `within` throws on timeout, `settled` continues", async () => {
    const clock = createFakeClock();
    const never = new Promise<never>(() => {});
    const late = assert.rejects(within(5, clock, never), /not done within 5 ms/);
    const over = settled(5, clock, never);
    await clock.advance(5);
    await late;
    await over;
    assert.equal(await within(5, clock, Promise.resolve(1)), 1);
    await settled(5, clock, Promise.resolve());
    assert.equal(clock.pending, 0, "no timer is left");
  });

  it("passes rejections on", async () => {
    const clock = createFakeClock();
    for (const wait of [within, settled])
      await assert.rejects(wait(5, clock, Promise.reject(new Error("no"))), { message: "no" });
    assert.equal(clock.pending, 0);
  });
});
