/** Gateways of one state are updated one after the other. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { createRun, type RunOptions } from "../../../plugins/update/run.ts";
import type { Update } from "../../../plugins/update/updater.ts";

/** @param status of the update, if it runs */
function scene(status: "ok" | "error") {
  const did: string[] = [];
  const report: Update["report"] = {
    status,
    mode: "unknown",
    before: { version: "1.0.0" },
    steps: [],
    durationMs: 1,
  };
  const options = (hasTurn: boolean): RunOptions => ({
    version: "1.0.0",
    channel: "stable",
    restarts: {
      possible: true,
      renewable: true,
      schedule: () => (did.push("restart"), { delayMs: 1, coalesced: false, cooldownMsApplied: 0 }),
    },
    notes: () => undefined,
    clock: { now: () => 1 },
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    updater: async () => ({ run: async () => (did.push("update"), { report, why: "-", byHand: [] }) }),
    turn: async () => (hasTurn ? { release: async () => void did.push("release") } : undefined),
  });
  return { did, run: (hasTurn: boolean, params = {}) => createRun(options(hasTurn))(params) };
}

it("an update keeps its turn until the restart, and gives it up when it fails", async () => {
  const [good, bad] = [scene("ok"), scene("error")];
  assert.equal((await good.run(true)).ok, true);
  assert.deepEqual(good.did, ["update", "restart"]);
  assert.equal((await bad.run(true)).ok, false);
  assert.deepEqual(bad.did, ["update", "release"]);
});

it("another gateway is not updated meanwhile; it may look what there is", async () => {
  const { did, run } = scene("ok");
  const { ok, result, restart } = await run(false);
  assert.deepEqual([ok, result.status, result.reason, restart, did], [true, "skipped", "another-gateway", null, []]);
  await run(false, { dryRun: true });
  assert.deepEqual(did, ["update", "restart"]);
});
