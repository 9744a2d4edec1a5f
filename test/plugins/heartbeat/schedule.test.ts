/** The clock of all hearts, on a real storage. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createFakeClock, type FakeClock } from "@svc/sdk/testing";
import { BeatStore } from "../../../plugins/heartbeat/beat-store.ts";
import { type Beating, Schedule } from "../../../plugins/heartbeat/schedule.ts";
import { openEvents } from "./events.ts";

const MINUTE = 60_000;

async function open(t: TestContext) {
  const { storage } = await openEvents(t);
  const store = new BeatStore(storage);
  const clock = createFakeClock();
  const start = async (agents: Beating[], own: FakeClock = clock) => {
    const beats: string[] = [];
    const due = (agentId: string) => void beats.push(`${agentId} ${(own.now() - Date.UTC(2026, 0, 1)) / MINUTE}`);
    const log = { warn: (_fields: object, message: string) => assert.fail(message) };
    const schedule = new Schedule({ store, beating: () => agents, due, clock: own, log });
    await schedule.open();
    return { schedule, beats, agents };
  };
  /** Time passes, and what was written is on disk. */
  const pass = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      await clock.advance(MINUTE);
      await sleep(2);
    }
    await storage.all("SELECT 1 AS one");
  };
  return { clock, start, pass, store };
}

const two = () => [
  { agentId: "a", everyMs: 2 * MINUTE },
  { agentId: "b", everyMs: 3 * MINUTE },
];

describe("the schedule", () => {
  it("has one timer for all, and each beats in its own interval", async (t) => {
    const { clock, start, pass } = await open(t);
    const { schedule, beats } = await start(two());
    assert.equal(clock.pending, 1);
    await pass(6);
    assert.deepEqual(beats.toSorted(), ["a 2", "a 4", "a 6", "b 3", "b 6"]);
    assert.equal(clock.pending, 1);
    schedule.stop();
    schedule.stop();
    assert.equal(clock.pending, 0);
  });

  it("goes on after a restart where it was, and makes up for what fell due meanwhile once", async (t) => {
    const { start, pass } = await open(t);
    const first = await start(two());
    await pass(1);
    first.schedule.stop();
    await pass(9);
    const second = await start(two());
    await pass(0);
    await sleep(20);
    assert.deepEqual(second.beats.toSorted(), ["a 10", "b 10"]);
    await pass(2);
    assert.deepEqual(second.beats.slice(2), ["a 12"]);
    second.schedule.stop();
  });

  it("begins an interval anew, and takes changes at once", async (t) => {
    const { start, pass } = await open(t);
    const agents = two().slice(0, 1);
    const { schedule, beats } = await start(agents);
    await pass(1);
    schedule.restart("a");
    await pass(1);
    assert.deepEqual(beats, []);
    agents[0] = { agentId: "a", everyMs: MINUTE };
    schedule.look();
    await sleep(20);
    assert.deepEqual(beats, ["a 2"]);
    agents.length = 0;
    schedule.look();
    await pass(5);
    assert.deepEqual(beats, ["a 2"]);
  });

  it("beats once for two gateways on one storage", async (t) => {
    const { start, pass, store } = await open(t);
    await store.set("a", Date.UTC(2026, 0, 1));
    const one = await start(two().slice(0, 1));
    const other = await start(two().slice(0, 1));
    await pass(2);
    await sleep(20);
    assert.equal(one.beats.length + other.beats.length, 1);
    one.schedule.stop();
    other.schedule.stop();
  });

  it("does not wait for a clock that was set back to catch up", async (t) => {
    const { clock, start, pass, store } = await open(t);
    await store.set("a", clock.now() + 999 * MINUTE);
    const { schedule, beats } = await start(two().slice(0, 1));
    await pass(2);
    await sleep(20);
    assert.deepEqual(beats, ["a 2"]);
    schedule.stop();
  });
});
