/** A gateway process under a flood, with listening clients, a separate process that polls `health`, and memory measurements. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { GatewayClient } from "@svc/sdk/client";
import { type PluginReport, plugins } from "@svc/sdk/plugins";
import { percentile } from "../bench/figures.ts";
import { Watching } from "../bench/hostile/watching.ts";
import { residentMiB } from "../bench/machine.ts";
import { type GatewayProcess, startGatewayProcess } from "../gateway-process.ts";
import { pause } from "./workload.ts";
import { directory } from "../directory.ts";

/** Connections that only listen. */
const LISTENERS = 3;
const SAMPLE_MS = 50;
/** Milliseconds for which `health` is polled even if the flood was shorter. */
const WATCHED_MS = 300;
/** Maximum growth of the gateway in MiB. Choice: generous; the floods here send gigabytes. */
const MOST_MIB = 400;

export interface FloodScene {
  readonly gateway: GatewayProcess;
  readonly client: GatewayClient;
  readonly stateDir: string;
  /**
   * Runs `work`, and asserts that meanwhile `health` and new connections were served, memory stayed bounded and no listener was disconnected.
   * @param mostMiB default 400
   */
  during<T>(work: () => Promise<T>, mostMiB?: number): Promise<T>;
  /** The gateway's report of a plugin. */
  plugin(id: string): Promise<PluginReport>;
  /** Asserts that no plugin is quarantined or failed, except these. */
  othersServe(...but: readonly string[]): Promise<void>;
  /** Asserts that SIGTERM ends the gateway with 0. */
  stops(): Promise<void>;
}

/** @param fill writes additional files to the state directory before the gateway starts */
export async function floodScene(
  t: TestContext,
  config: object,
  fill: (stateDir: string) => Promise<unknown> = async () => undefined,
): Promise<FloodScene> {
  const stateDir = directory(t);
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  await fill(stateDir);
  const gateway = await startGatewayProcess(stateDir, {}, { logLevel: "info" });
  t.after(() => gateway.kill());
  const client = await gateway.connect();
  t.after(() => client.close());
  const { url, token } = gateway;
  const watching = await Watching.start({ url, token });
  t.after(() => watching.end());
  const cut: string[] = [];
  let isStopping = false;
  for (let index = 0; index < LISTENERS; index += 1) {
    const listener = await gateway.connect({ reconnect: false });
    listener.onClose((reason) => void (isStopping || cut.push(JSON.stringify(reason))));
    t.after(() => listener.close());
  }
  const list = async () => (await client.call(plugins.list, {})).plugins;
  const resident = () => residentMiB(gateway.child.pid ?? 0);
  return {
    gateway,
    client,
    stateDir,
    async during(work, mostMiB = MOST_MIB) {
      await watching.next();
      const before = resident();
      let most = before;
      const sampling = setInterval(() => (most = Math.max(most, resident())), SAMPLE_MS);
      const result = await work().finally(() => clearInterval(sampling));
      await pause(WATCHED_MS);
      const { calls, failures } = await watching.next();
      const [p50, p99, max] = [0.5, 0.99, 1].map((share) => Math.round(percentile(calls, share) * 10) / 10);
      const memory = `${Math.round(before)} MiB, at most ${Math.round(most)}, then ${Math.round(resident())}`;
      t.diagnostic(`${calls.length} x health: p50 ${p50}, p99 ${p99}, most ${max} ms; ${memory}`);
      assert.deepEqual([...new Set(failures)], []);
      assert.ok(calls.length > 0, "health was not asked for");
      assert.ok(most - before < mostMiB, memory);
      assert.deepEqual(cut, []);
      return result;
    },
    async plugin(id) {
      return (await list()).find((one) => one.id === id) ?? assert.fail(`there is no plugin ${id}`);
    },
    async othersServe(...but) {
      const down = (await list()).filter(
        ({ state, id }) => ["failed", "quarantined"].includes(state) && !but.includes(id),
      );
      assert.deepEqual(
        down.map(({ id, state, reason }) => ({ id, state, reason })),
        [],
      );
    },
    async stops() {
      isStopping = true;
      const begun = performance.now();
      assert.equal(await gateway.kill("SIGTERM"), 0, gateway.log().slice(-2_000));
      t.diagnostic(`SIGTERM: ${Math.round(performance.now() - begun)} ms`);
    },
  };
}
