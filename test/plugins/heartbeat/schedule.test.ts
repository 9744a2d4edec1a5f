/** The schedule of all heartbeats, and its stored state. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createFakeClock } from "@svc/sdk/testing";
import { BeatStore } from "../../../plugins/heartbeat/beat-store.ts";
import { type Beating, Schedule } from "../../../plugins/heartbeat/schedule.ts";
import { onlyOwner } from "../only-owner.ts";
import { openEvents } from "./events.ts";

const MINUTE = 60_000;

/** Like the real store, in memory. */
function memory() {
  const beats = new Map<string, number>();
  const store: Pick<BeatStore, "lastBeats" | "set" | "claim"> = {
    lastBeats: async () => new Map(beats),
    set: async (agentId, at) => void beats.set(agentId, at),
    async claim(agentId, last, at) {
      const isMine = beats.get(agentId) === last;
      if (isMine) beats.set(agentId, at);
      return isMine;
    },
  };
  return store;
}

function open() {
  const store = memory();
  const clock = createFakeClock();
  const start = async (agents: Beating[]) => {
    const beats: string[] = [];
    const due = (agentId: string) => void beats.push(`${agentId} ${(clock.now() - Date.UTC(2026, 0, 1)) / MINUTE}`);
    const log = { warn: (_fields: object, message: string) => assert.fail(message) };
    const schedule = new Schedule({ store, beating: () => agents, due, clock, log });
    await schedule.open();
    return { schedule, beats, agents };
  };
  return { clock, start, pass: (minutes: number) => clock.advance(minutes * MINUTE), store };
}

const two = () => [
  { agentId: "a", everyMs: 2 * MINUTE },
  { agentId: "b", everyMs: 3 * MINUTE },
];

describe("the schedule", () => {
  it("uses one timer for all agents, each with its own interval", async () => {
    const { clock, start, pass } = open();
    const { schedule, beats } = await start(two());
    assert.equal(clock.pending, 1);
    await pass(6);
    assert.deepEqual(beats.toSorted(), ["a 2", "a 4", "a 6", "b 3", "b 6"]);
    assert.equal(clock.pending, 1);
    schedule.stop();
    schedule.stop();
    assert.equal(clock.pending, 0);
  });

  it("leaves no timer when it is stopped while it opens", async () => {
    const clock = createFakeClock();
    const log = { warn: (_fields: object, message: string) => assert.fail(message) };
    const schedule = new Schedule({ store: memory(), beating: two, due: () => assert.fail("it beats"), clock, log });
    const opened = schedule.open();
    schedule.stop();
    await opened;
    assert.equal(clock.pending, 0);
  });

  it("continues after a restart, and runs an overdue heartbeat once", async () => {
    const { start, pass } = open();
    const first = await start(two());
    await pass(1);
    first.schedule.stop();
    await pass(9);
    const second = await start(two());
    await pass(0);
    assert.deepEqual(second.beats.toSorted(), ["a 10", "b 10"]);
    await pass(2);
    assert.deepEqual(second.beats.slice(2), ["a 12"]);
    second.schedule.stop();
  });

  it("restarts an interval, and applies changes at once", async () => {
    const { start, pass } = open();
    const agents = two().slice(0, 1);
    const { schedule, beats } = await start(agents);
    await pass(1);
    schedule.restart("a");
    await pass(1);
    assert.deepEqual(beats, []);
    agents[0] = { agentId: "a", everyMs: MINUTE };
    schedule.look();
    await pass(0);
    assert.deepEqual(beats, ["a 2"]);
    agents.length = 0;
    schedule.look();
    await pass(5);
    assert.deepEqual(beats, ["a 2"]);
  });

  it("runs a heartbeat once for two gateways on one storage", async () => {
    const { start, pass, store } = open();
    await store.set("a", Date.UTC(2026, 0, 1));
    const one = await start(two().slice(0, 1));
    const other = await start(two().slice(0, 1));
    await pass(2);
    await pass(0);
    assert.equal(one.beats.length + other.beats.length, 1);
    one.schedule.stop();
    other.schedule.stop();
  });

  it("continues at once after the clock was set back", async () => {
    const { clock, start, pass, store } = open();
    await store.set("a", clock.now() + 999 * MINUTE);
    const { schedule, beats } = await start(two().slice(0, 1));
    await pass(2);
    await pass(0);
    assert.deepEqual(beats, ["a 2"]);
    schedule.stop();
  });
});

describe("the last heartbeats", () => {
  it("are stored, and the next one can be claimed once", async (t) => {
    const { storage } = await openEvents(t);
    const store = new BeatStore(storage);
    await store.set("a", 1);
    await store.set("a", 2);
    assert.deepEqual(await Promise.all([store.claim("a", 2, 5), store.claim("a", 2, 5), store.claim("b", 2, 5)]), [
      true,
      false,
      false,
    ]);
    assert.deepEqual(await store.lastBeats(), new Map([["a", 5]]));
    const beat = { runId: "r", agentId: "a", sessionKey: "k", reason: "interval" };
    const owner = { ...onlyOwner(), free: (column: string) => ({ sql: `${column} = ?`, params: ["ended"] }) };
    await store.began(beat, { ...owner, id: "ended" });
    await store.settled("r", owner);
    assert.deepEqual(await store.takeOver(owner), [beat], "only its owner ends a turn");
    assert.deepEqual(await store.takeOver(owner), []);
    await store.settled("r", owner);
    assert.deepEqual(await store.takeOver({ ...owner, free: () => onlyOwner().free("") }), []);
  });
});
