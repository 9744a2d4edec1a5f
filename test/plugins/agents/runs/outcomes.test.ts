import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RunOutcome } from "@svc/sdk/services";
import { KEEP_COUNT, KEEP_MS, Outcomes } from "../../../../plugins/agents/runs/outcomes.ts";
import { createFakeClock } from "../fake-clock.ts";
import { MAIN } from "../script.ts";

const outcome = (runId: string): RunOutcome => ({ runId, sessionKey: MAIN, status: "ok", endedAt: 1, text: "" });

describe("outcomes", () => {
  it("tells those who wait, also before anybody heard of the run", async () => {
    const outcomes = new Outcomes(createFakeClock());
    const waiting = [outcomes.next("r1", 1_000), outcomes.next("r1")];
    outcomes.add(outcome("r1"));
    assert.deepEqual(await Promise.all(waiting), [outcome("r1"), outcome("r1")]);
    assert.deepEqual(await outcomes.next("r1", 1_000), outcome("r1"));
  });

  it("gives up after the time it was given and leaves nothing behind", async () => {
    const clock = createFakeClock();
    const outcomes = new Outcomes(clock);
    const waiting = outcomes.next("r1", 1_000);
    clock.advance(1_000);
    assert.equal(await waiting, undefined);
    assert.equal(clock.pending(), 0);
  });

  it("stops its timer when the outcome comes first", async () => {
    const clock = createFakeClock();
    const outcomes = new Outcomes(clock);
    const waiting = outcomes.next("r1", 1_000);
    outcomes.add(outcome("r1"));
    await waiting;
    assert.equal(clock.pending(), 0);
  });

  it("forgets after 600 s", () => {
    const clock = createFakeClock();
    const outcomes = new Outcomes(clock);
    outcomes.add(outcome("r1"));
    clock.advance(KEEP_MS - 1);
    assert.ok(outcomes.get("r1"));
    clock.advance(1);
    assert.equal(outcomes.get("r1"), undefined);
  });

  it("keeps the newest thousand", () => {
    const outcomes = new Outcomes(createFakeClock());
    for (let run = 0; run <= KEEP_COUNT; run += 1) outcomes.add(outcome(`r${run}`));
    assert.equal(outcomes.get("r0"), undefined);
    assert.ok(outcomes.get("r1"));
  });

  it("lets everybody go when it closes", async () => {
    const outcomes = new Outcomes(createFakeClock());
    const waiting = outcomes.next("r1");
    outcomes.close();
    assert.equal(await waiting, undefined);
    assert.equal(await outcomes.next("r2"), undefined);
  });
});
