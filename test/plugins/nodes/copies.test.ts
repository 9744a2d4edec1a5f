/** The verbose levels of runs are cached for a limited time and a limited number of runs. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { PluginGateway } from "@svc/sdk";
import type { RunEvent } from "@svc/sdk/agents";
import { createFakeClock } from "@svc/sdk/testing";
import { copyTools, LEVEL_MS, MOST_LEVELS } from "../../../plugins/nodes/copies.ts";
import type { Subscriptions } from "../../../plugins/nodes/subscriptions.ts";

function open() {
  const clock = createFakeClock();
  let read = 0;
  let take: (event: RunEvent) => void = () => undefined;
  const hooks = { runEvent: { tap: (tap: typeof take) => void (take = tap) } };
  const gateway = { hooks, forward: () => undefined } as unknown as PluginGateway; // no more of it is used
  const subscriptions = { of: () => ["c"] } as unknown as Subscriptions;
  const levelOf = async () => {
    read += 1;
    return "full";
  };
  copyTools(gateway, subscriptions, levelOf, clock);
  const step = (runId: string): void => take({ runId, seq: 1, stream: "tool", ts: 0, data: {}, sessionKey: "k" });
  return { clock, step, reads: () => read };
}

it("the level of a run is cached, and read again after a while", async () => {
  const { clock, step, reads } = open();
  step("r");
  step("r");
  assert.equal(reads(), 1);
  await clock.advance(LEVEL_MS - 1);
  step("r");
  assert.equal(reads(), 1);
  await clock.advance(1);
  step("r");
  assert.equal(reads(), 2);
});

it("runs without a reported end do not accumulate", () => {
  const { step, reads } = open();
  for (let run = 0; run <= MOST_LEVELS; run++) step(`r${run}`);
  step(`r${MOST_LEVELS}`);
  assert.equal(reads(), MOST_LEVELS + 1);
  step("r0"); // the oldest one gave way
  assert.equal(reads(), MOST_LEVELS + 2);
});
