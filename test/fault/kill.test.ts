/**
 * `kill -9` at a random moment during writes of every kind: nothing acknowledged is lost, no file is partial, and the next
 * start succeeds. Spec: design/reliability.md line 4.
 *
 * Clients record what was acknowledged; after the restart a checker compares it with the gateway's state.
 * SVC_FAULT_ROUNDS sets the number of kills (default 4), SVC_FAULT_SEED repeats a run.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import type { GatewayClient } from "@svc/sdk/client";
import { plugins } from "@svc/sdk/plugins";
import { type GatewayProcess, startGatewayProcess } from "../gateway-process.ts";
import { AgentsWorkload } from "./agents-workload.ts";
import { ConfigWorkload } from "./config-workload.ts";
import { RunsWorkload } from "./runs-workload.ts";
import { SessionsWorkload } from "./sessions-workload.ts";
import { until } from "../until.ts";
import { createRandom, pause, ROUNDS, SEED, stagedFiles } from "./workload.ts";

/** The first files of a workspace need a dozen syncs, which would take most of the time with this many writers. */
const SETTINGS = { "provider-offline": { wordDelayMs: 1 }, agents: { defaults: { skipBootstrap: true } } };

/** Plugins are reloaded meanwhile. */
async function reloading(connect: () => Promise<GatewayClient>): Promise<never> {
  const client = await connect();
  for (let turn = 0; ; turn++) {
    const id = ["health", "config", "chat"][turn % 3] ?? "health";
    const { ok, reason } = await client.call(plugins.reload, { id });
    assert.ok(ok, `${id} was not reloaded: ${reason}`);
    await pause(100);
  }
}

it(`nothing acknowledged is lost in ${ROUNDS} kills`, { timeout: 1_800_000 }, async (t) => {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-kill-"));
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(SETTINGS));
  const random = createRandom(SEED);
  const starts: number[] = [];
  const config = new ConfigWorkload(stateDir);
  const runs = new RunsWorkload();
  const workloads = [config, new AgentsWorkload(stateDir), runs, new SessionsWorkload()];
  let running: GatewayProcess = await startGatewayProcess(stateDir);
  t.after(async () => {
    await running.kill();
    await rm(stateDir, { recursive: true, force: true });
  });
  for (let round = 0; round < ROUNDS; round++) {
    const context = `seed ${SEED}, round ${round}`;
    const victim = running;
    const clients: GatewayClient[] = [];
    const open = async () => {
      const client = await victim.connect();
      clients.push(client);
      return client;
    };
    const over = new AbortController();
    const refusals: unknown[] = [];
    const writers = [...workloads.map((workload) => workload.write(open, over.signal)), reloading(open)].map((writer) =>
      writer.catch((error: unknown) => {
        // unacknowledged work at the kill counts neither as lost nor as done
        if (!over.signal.aborted) refusals.push(error);
      }),
    );
    const before = workloads.map(({ acknowledged }) => acknowledged);
    const haveAllWritten = () => workloads.every(({ acknowledged }, index) => acknowledged > (before[index] ?? 0));
    // Every other kill comes at a random time, possibly during the first connections.
    if (round % 2 === 0) await until(haveAllWritten, "all have written");
    await pause(random() * 500);
    over.abort();
    await victim.kill();
    await Promise.all(writers);
    await Promise.all(clients.map((client) => client.close()));
    assert.deepEqual(refusals, [], `${context}: refused before the kill`);
    running = await startGatewayProcess(stateDir);
    starts.push(running.readyMs);
    const checker = await running.connect();
    for (const workload of workloads) await workload.check(checker, context);
    await checker.close();
  }
  const sorted = [...starts].sort((left, right) => left - right);
  const [median = 0, most = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  const acknowledged = workloads.map((workload) => `${workload.acknowledged} ${workload.constructor.name}`).join(", ");
  t.diagnostic(`seed ${SEED}, ${ROUNDS} kills; acknowledged: ${acknowledged}`);
  t.diagnostic(`${config.conflicts} conflicts, ${runs.interrupted} runs interrupted, ${runs.subruns} sub-runs`);
  t.diagnostic(`next start served after ${Math.round(median)} ms (median), ${Math.round(most)} ms (most)`);
  t.diagnostic(`files left half-written beside the configuration: ${(await stagedFiles(stateDir)).length}`);
  for (const workload of workloads) assert.ok(workload.acknowledged > 0, `${workload.constructor.name} did write`);
});
