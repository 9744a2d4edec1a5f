/** Random messages, stops and crashes: every accepted request ends once, and nothing is left behind. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as tick, setTimeout as sleep } from "node:timers/promises";
import { isGatewayError } from "@svc/sdk";
import type { QueueMode, RunState } from "@svc/sdk/agents";
import { defineTool } from "@svc/sdk/tools";
import { type Fixture, type Gateway, openFixture } from "../fixture.ts";
import { type Answer, calls, request, says } from "../script.ts";

const MODES: (QueueMode | undefined)[] = [undefined, "collect", "followup", "steer", "steer-backlog", "interrupt"];
const DROPS = ["old", "new", "summarize"];

/** Park and Miller's generator: the same numbers for the same seed. */
function random(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

async function settle(gateway: Gateway, keys: readonly string[]): Promise<void> {
  for (let turn = 0; turn < 1_000 && keys.some((key) => gateway.runs.active(key).length > 0); turn += 1) {
    await sleep(2);
    gateway.clock.advance(100);
  }
}

async function play(fixture: Fixture, seed: number) {
  const pick = random(seed);
  const work = defineTool({
    description: "Works",
    params: { type: "object" },
    scope: "operator.read",
    effects: ["reads"],
    brings: "none",
    run: () => tick("done"),
  });
  let round = 0;
  const answer: Answer = (question, signal) => {
    round += 1;
    return (round % 3 === 0 ? says(calls("work")) : says("fine"))(question, signal);
  };
  const options = {
    answer,
    tools: { work },
    messages: { queue: { debounceMs: pick(2) * 1_000, cap: 1 + pick(4), drop: DROPS[pick(3)] } },
  };
  const keys = ["agent:main:a", "agent:main:b"];
  const accepted: string[] = [];
  const gateways: Gateway[] = [await fixture.start(options)];
  const current = () => gateways.at(-1) ?? assert.fail();
  for (let step = 0; step < 60; step += 1) {
    const what = pick(20);
    if (what < 12) {
      const mode = MODES[pick(MODES.length)];
      const runId = `r${step}`;
      const sessionKey = keys[pick(2)] ?? "";
      const starting = current()
        .runs.start(request(runId, { sessionKey, ...(mode ? { queue: mode } : {}) }))
        .then(() => accepted.push(runId))
        .catch((error: unknown) => assert.ok(isGatewayError(error) && error.code === "UNAVAILABLE", String(error)));
      if (pick(2) === 0) await starting;
    } else if (what < 15) {
      current().runs.abort(`r${pick(step + 1)}`, "rpc");
    } else if (what < 18) {
      for (let turn = pick(30); turn > 0; turn -= 1) await tick();
      current().clock.advance(pick(1_500));
    } else if (what === 18) {
      await current().runs.sweep();
    } else {
      await settleAccepting();
      const stopped = current().runs.stop();
      await tick();
      current().clock.advance(5_000);
      await stopped;
      gateways.push(await fixture.start(options));
    }
  }
  await settleAccepting();
  await settle(current(), keys);
  return { accepted, gateways, keys, current };

  /** Lets acceptances under way finish: one that is cut off has no answer that could be checked. */
  async function settleAccepting() {
    for (let turn = 0; turn < 50; turn += 1) await tick();
  }
}

describe("random messages, stops and restarts", { timeout: 120_000 }, () => {
  for (const seed of [1, 7, 42, 1_234, 98_765, 20_260_128]) {
    it(`leave no accepted request without an end, seed ${seed}`, async (t) => {
      const fixture = await openFixture(t);
      const { accepted, gateways, keys, current } = await play(fixture, seed);
      for (const key of keys) assert.deepEqual(current().runs.active(key), []);
      assert.ok(accepted.length > 10);
      const told = gateways.flatMap(({ finished }) => finished.map(({ runId }) => runId));
      for (const runId of accepted) {
        const { status } = (await current().runs.state(runId)) as RunState;
        assert.ok(["ok", "error", "aborted", "interrupted"].includes(status), `${runId} is ${status}`);
        assert.equal(told.filter((id) => id === runId).length, 1, `${runId} was told once`);
        const events = gateways.flatMap((gateway) => gateway.events).filter(({ outcome }) => outcome?.runId === runId);
        assert.equal(events.length, 1, `${runId} has one last event`);
      }
      assert.equal(current().clock.pending(), 0);
      await current().runs.stop();
      assert.equal(current().clock.repeating(), 0, "no lease is renewed any more");
    });
  }
});
