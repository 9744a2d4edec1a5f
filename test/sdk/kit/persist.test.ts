import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { persist } from "@svc/kit/persist";
import { GatewayError } from "@svc/sdk";
import { createFakeClock } from "../../plugins/agents/fake-clock.ts";

const full = (retryAfterMs?: number) =>
  new GatewayError("UNAVAILABLE", "disk full", retryAfterMs === undefined ? {} : { retryAfterMs });
const never = new AbortController().signal;

/** Fails with the errors in turn, then writes. */
function writer(...errors: Error[]) {
  const attempts: number[] = [];
  const clock = createFakeClock();
  const start = clock.now();
  const write = async () => {
    attempts.push(clock.now() - start);
    const error = errors.shift();
    if (error) throw error;
  };
  return { clock, write, attempts };
}

async function pass(clock: ReturnType<typeof createFakeClock>, ms: number): Promise<void> {
  await tick();
  clock.advance(ms);
  await tick();
}

describe("persist", () => {
  it("tries again after a pause that doubles, or the one storage asks for", async () => {
    const { clock, write, attempts } = writer(full(), full(), full(100));
    const written = persist(write, { clock, signal: never });
    for (const ms of [500, 1_000, 100]) await pass(clock, ms);
    await written;
    assert.deepEqual(attempts, [0, 500, 1_500, 1_600]);
  });

  it("fails at once with anything but UNAVAILABLE", async () => {
    for (const error of [new Error("bug"), new GatewayError("CONFLICT", "changed")]) {
      const { clock, write } = writer(error);
      await assert.rejects(persist(write, { clock, signal: never, isDone: async () => true }), error);
    }
  });

  it("takes a conflict of a repeated write for done when it was", async () => {
    for (const done of [true, false]) {
      const conflict = new GatewayError("CONFLICT", "changed");
      const { clock, write } = writer(full(), conflict);
      const written = persist(write, { clock, signal: never, isDone: async () => done });
      const checked = done ? written : assert.rejects(written, conflict);
      await pass(clock, 500);
      await checked;
    }
  });

  it("gives up between two attempts when it is told to", async () => {
    const { clock, write, attempts } = writer(full(), full());
    const controller = new AbortController();
    const written = assert.rejects(persist(write, { clock, signal: controller.signal }), { name: "AbortError" });
    await tick();
    controller.abort();
    await written;
    assert.deepEqual([attempts.length, clock.pending()], [1, 0]);
  });
});
