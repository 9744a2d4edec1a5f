/**
 * Plugins are reloaded repeatedly while senders continuously post webhooks: every request is answered with 200, none is
 * lost, and none is carried out twice. Spec: design/reliability.md.
 *
 * SVC_FAULT_ROUNDS sets half the number of reloads (default 10).
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { plugins } from "@svc/sdk/plugins";
import { startGatewayProcess } from "../gateway-process.ts";
import { check, drained } from "./hook-checks.ts";
import { openHookScene } from "./hook-scene.ts";
import { HookSenders } from "./hook-senders.ts";
import { createRandom, pause, SEED } from "./workload.ts";

const RELOADS = 2 * Number(process.env["SVC_FAULT_ROUNDS"] ?? 10);
/** Reloaded in turn: plugins with webhook actions, their dependencies, the storage, and the plugin that keeps the records. */
const RELOADED = ["webhook-agent", "webhook-wake", "heartbeat", "sessions", "agents", "storage-sqlite", "webhooks"];
/** Webhooks acknowledged between two reloads, so that each reload meets some in progress; and the time limit in milliseconds. */
const BETWEEN = 8;
const PATIENCE_MS = 10_000;

it(
  `no webhook is refused, lost or doubled while plugins are reloaded ${RELOADS} times`,
  { timeout: 600_000 },
  async (t) => {
    const { stateDir, model } = await openHookScene(t, createRandom(SEED));
    const running = await startGatewayProcess(stateDir);
    t.after(() => running.kill().then(() => undefined));
    const senders = new HookSenders(model.seen);
    senders.origin = running.url.replace(/^ws/, "http");
    const over = new AbortController();
    const sending = senders.run(over.signal);
    const client = await running.connect();
    let longestMs = 0;
    for (let round = 0; round < RELOADS; round++) {
      const id = RELOADED[round % RELOADED.length] ?? "";
      const enough = senders.acknowledged.length + BETWEEN;
      const { ok, reason, heldMs } = await client.call(plugins.reload, { id });
      assert.ok(ok, `${id} was not reloaded: ${reason}`);
      longestMs = Math.max(longestMs, heldMs);
      const end = performance.now() + PATIENCE_MS;
      while (senders.acknowledged.length < enough && performance.now() < end) await pause(2);
    }
    over.abort();
    await sending;
    const context = `seed ${SEED}, ${RELOADS} reloads`;
    await drained(client, context);
    await senders.repeatAll();
    const { turns, interrupted } = await check(client, senders, context);
    assert.deepEqual(senders.wrong, [], context);
    assert.ok(senders.acknowledged.length > RELOADS, "the load was no load");
    t.diagnostic(
      `${context}; ${senders.acknowledged.length} webhooks acknowledged, requests held ${longestMs} ms at most`,
    );
    t.diagnostic(`${turns} turns completed, ${interrupted} interrupted`);
  },
);
