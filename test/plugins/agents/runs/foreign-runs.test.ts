/** The end of a run that another gateway has reaches those that wait for it here. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import { GatewayError } from "@svc/sdk";
import type { RunEvent, RunOutcome } from "@svc/sdk/agents";
import { createFakeClock } from "@svc/sdk/testing";
import { noPeers } from "../../no-peers.ts";
import { RunEvents } from "../../../../plugins/agents/runs/events.ts";
import { ForeignRuns } from "../../../../plugins/agents/runs/foreign-runs.ts";
import { LiveRuns } from "../../../../plugins/agents/runs/live-runs.ts";
import type { RunRecord } from "../../../../plugins/agents/runs/store.ts";

const outcome: RunOutcome = { runId: "r1", sessionKey: "main", status: "ok", endedAt: 1, text: "fine" };

/** Each `follow`, in order: with events of the run, or for a caller that only waits. */
const rows: [name: string, followers: readonly ("events" | "caller")[], told: number][] = [
  ["a caller alone", ["caller"], 0],
  ["the events of the run", ["events"], 1],
  ["events while a caller follows", ["caller", "events"], 1],
  ["events while a caller joins", ["events", "caller"], 1],
  ["the latest events, once", ["events", "events"], 1],
];
for (const [name, followers, told] of rows) {
  it(`tells ${name}`, async () => {
    const clock = createFakeClock();
    const live = new LiveRuns(clock);
    const found: { outcome?: RunOutcome } = {};
    let isDown = true;
    const store = {
      async find() {
        if (isDown) throw new GatewayError("UNAVAILABLE", "the database stopped; try again");
        return { state: { runId: "r1" }, ...found } as RunRecord;
      },
    };
    const ended: unknown[] = [];
    const sinks = {
      trace: ({ data }: { data: unknown }) => ended.push(data),
      passOn: () => undefined,
      agentOf: () => "main",
      broadcast: () => undefined,
      now: () => 1,
    };
    const env = { store, peers: noPeers(), clock, log: { warn: () => assert.fail() } };
    const foreign = new ForeignRuns(
      env as unknown as ConstructorParameters<typeof ForeignRuns>[0],
      live,
      new AbortController().signal,
    );
    const waited = live.next("r1");
    const all = followers.map((one) =>
      foreign.follow("r1", one === "events" ? new RunEvents({ runId: "r1", sessionKey: "main" }, sinks) : undefined),
    );
    await tick();
    isDown = false; // a storage that fails for a while ends no waiting
    await clock.advance(500);
    found.outcome = outcome;
    await clock.advance(1_000);
    await Promise.all(all);
    assert.equal(await waited, outcome);
    assert.equal(ended.length, told);
  });
}

it("passes the events of a gateway that is known, each once, and ends the wait with the last one", async () => {
  const clock = createFakeClock();
  const live = new LiveRuns(clock);
  const found: { outcome?: RunOutcome } = {};
  const store = { find: async () => ({ state: { runId: "r1" }, ...found }) as RunRecord };
  const traced: [seq: number, isForeign: unknown, outcome: unknown][] = [];
  const sinks = {
    trace: ({ seq, isForeign, outcome: end }: RunEvent) => void traced.push([seq, isForeign, end]),
    passOn: () => assert.fail(),
    agentOf: () => assert.fail(),
    broadcast: () => assert.fail("the other gateway has sent it to clients"),
    now: () => 1,
  };
  const env = { store, peers: { ...noPeers(), self: "here" }, clock, log: { warn: () => assert.fail() } };
  const foreign = new ForeignRuns(
    env as unknown as ConstructorParameters<typeof ForeignRuns>[0],
    live,
    new AbortController().signal,
  );
  const event: RunEvent = { runId: "r1", sessionKey: "main", seq: 3, stream: "assistant", ts: 1, data: {} };
  foreign.heard(event); // nobody follows it yet
  const waited = live.next("r1");
  const following = foreign.follow("r1", new RunEvents({ runId: "r1", sessionKey: "main" }, sinks));
  await tick();
  foreign.heard(event);
  foreign.heard({ ...event, runId: "another" });
  foreign.heard({ ...event, seq: 4, stream: "lifecycle", outcome });
  assert.equal(await waited, outcome);
  found.outcome = outcome;
  await clock.advance(1_000);
  await following;
  assert.deepEqual(traced, [
    [3, true, undefined],
    [4, true, outcome],
  ]);
});
