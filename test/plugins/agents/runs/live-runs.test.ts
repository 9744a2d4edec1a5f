import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RunOutcome } from "@svc/sdk/agents";
import { KEEP_COUNT, KEEP_MS, LiveRuns } from "../../../../plugins/agents/runs/live-runs.ts";
import { createFakeClock } from "../fake-clock.ts";
import { MAIN } from "../script.ts";

const outcome = (runId: string): RunOutcome => ({ runId, sessionKey: MAIN, status: "ok", endedAt: 1, text: "" });

describe("outcomes of live runs", () => {
  it("tells those who wait, also before anybody heard of the run", async () => {
    const clock = createFakeClock();
    const runs = new LiveRuns(clock);
    const waiting = [runs.next("r1", 1_000), runs.next("r1")];
    runs.end(outcome("r1"));
    assert.deepEqual(await Promise.all(waiting), [outcome("r1"), outcome("r1")]);
    assert.equal(clock.pending(), 0);
    assert.deepEqual(await runs.next("r1", 1_000), outcome("r1"));
  });

  it("gives up after the time it was given and leaves nothing behind", async () => {
    const clock = createFakeClock();
    const runs = new LiveRuns(clock);
    const waiting = runs.next("r1", 1_000);
    clock.advance(1_000);
    assert.equal(await waiting, undefined);
    assert.equal(clock.pending(), 0);
  });

  it("forgets after 600 s", () => {
    const clock = createFakeClock();
    const runs = new LiveRuns(clock);
    runs.end(outcome("r1"));
    clock.advance(KEEP_MS - 1);
    assert.ok(runs.outcome("r1"));
    clock.advance(1);
    assert.equal(runs.outcome("r1"), undefined);
  });

  it("keeps the newest thousand", () => {
    const runs = new LiveRuns(createFakeClock());
    for (let run = 0; run <= KEEP_COUNT; run += 1) runs.end(outcome(`r${run}`));
    assert.equal(runs.outcome("r0"), undefined);
    assert.ok(runs.outcome("r1"));
  });

  it("lets everybody go when it closes", async () => {
    const runs = new LiveRuns(createFakeClock());
    const waiting = runs.next("r1");
    runs.close();
    assert.equal(await waiting, undefined);
    assert.equal(await runs.next("r2"), undefined);
  });
});
