// long: blocks the event loop of real processes
/** A plugin that blocks the event loop is named during the block, which is attributed to it afterwards. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { GatewayClient } from "@svc/sdk/client";
import { plugins } from "@svc/sdk/plugins";
import { type GatewayProcess, startGatewayProcess } from "../../gateway-process.ts";

/** Spins at once, spins after an `await`, waits in a system call, waits in one after an `await`; `idle` does nothing. */
const PLUGIN = `
import { defineContract, definePlugin, Type } from "@svc/sdk";
import { execFileSync } from "node:child_process";
const Any = Type.Object({});
const params = Type.Object({ ms: Type.Integer() });
const way = { summary: "-", scope: "operator.write", params, result: Any };
const hog = defineContract("hog", { spin: way, later: way, wait: way, waitLater: way, idle: { ...way, params: Any } });
function spinHard(ms) {
  for (const end = performance.now() + ms; performance.now() < end;);
}
export default definePlugin({
  id: "hog", api: "^1.0.0",
  setup: (gateway) => gateway.serve(hog, {
    spin: ({ params }) => { spinHard(params.ms); return {}; },
    later: async ({ params }) => { await new Promise((r) => setTimeout(r, 5)); spinHard(params.ms); return {}; },
    wait: ({ params }) => { execFileSync("sleep", [String(params.ms / 1000)]); return {}; },
    waitLater: async ({ params }) => { await new Promise((r) => setTimeout(r, 5)); execFileSync("sleep", [String(params.ms / 1000)]); return {}; },
    idle: () => ({}),
  }),
});
`;

interface Line {
  readonly plugin?: string;
  readonly blockedMs?: number;
  readonly stack?: readonly string[];
  readonly msg: string;
}

interface Scene {
  readonly running: GatewayProcess;
  readonly client: GatewayClient;
  lines(): Line[];
  record(): Promise<{ plugin?: string; over: boolean; blockedMs: number; stack: readonly string[] } | undefined>;
}

async function scene(t: TestContext, env: Record<string, string> = {}, entries: object = {}): Promise<Scene> {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-hog-"));
  t.after(() => rm(stateDir, { recursive: true, force: true }));
  await writeFile(join(stateDir, "hog.ts"), PLUGIN);
  await writeFile(
    join(stateDir, "svc.json"),
    JSON.stringify({ plugins: { use: ["plugins", "watchdog", "./hog.ts"], entries } }),
  );
  const running = await startGatewayProcess(stateDir, env);
  t.after(() => running.kill());
  const client = await running.connect();
  t.after(() => client.close());
  const lines = () =>
    running
      .log()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Line);
  const record: Scene["record"] = async () => {
    const text = await readFile(join(stateDir, "event-loop-report.json"), "utf8").catch(() => '{"blocks":[]}');
    return (JSON.parse(text) as { blocks: Awaited<ReturnType<Scene["record"]>>[] }).blocks.at(-1);
  };
  return { running, client, lines, record };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** @throws Error after `patienceMs` */
async function until<T>(
  look: () => Promise<T | undefined> | T | undefined,
  what: string,
  patienceMs = 10_000,
): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`${what} did not come about`);
    await pause(25);
  }
}

/** Three times the shortest block. On a busy machine the watchdog runs late, so longer ones are tried. */
const BLOCK_MS = 3_000;
const LONGER_MS = [2 * BLOCK_MS, 4 * BLOCK_MS];
/** The watchdog starts one second after the gateway. */
const STARTS_WITHIN_MS = 1_800;

const named = (lines: readonly Line[]) => lines.filter(({ msg }) => /blocks the event loop/.test(msg));
const costs = async (client: GatewayClient) => (await client.call(plugins.inspect, { id: "hog" })).stats;

const isCharged = async (client: GatewayClient, blocks: number) =>
  (await costs(client)).blocks === blocks ? true : undefined;

/** @throws Error no block was detected */
async function blockUntilCharged(client: GatewayClient, way: string, blocks: number): Promise<void> {
  for (const ms of [BLOCK_MS, ...LONGER_MS]) {
    await client.request(`hog.${way}`, { ms });
    const charged = await until(() => isCharged(client, blocks), "the charge", 3_000).catch(() => false);
    if (charged) return;
  }
  throw new Error(`the charge for ${way} did not come about`);
}

describe("a plugin that blocks the event loop", { timeout: 120_000, concurrency: true }, () => {
  it("is named during the block, by mark or by async context, and the block is attributed to it afterwards", async (t) => {
    const { running, client, lines, record } = await scene(t);
    const other = await running.connect();
    t.after(() => other.close());
    await pause(STARTS_WITHIN_MS);
    let answered = false;
    const spinning = client.request("hog.spin", { ms: 2 * BLOCK_MS }).then(() => (answered = true));
    const line = await until(() => named(lines())[0], "a line");
    const kept = await until(record, "a report");
    assert.equal(answered, false, "it was named only after the block");
    assert.match(line.msg, /^plugin hog blocks the event loop: nothing else was served for 1\.\d s$/);
    assert.match(line.stack?.join("\n") ?? "", /^spinHard \(.*hog\.ts:\d+:\d+\)$/m);
    assert.deepEqual([kept.plugin, kept.over, kept.stack], ["hog", false, line.stack]);
    await other.request("hog.idle", {}); // served after the block
    await spinning;
    await until(() => isCharged(other, 1), "the charge for spin");
    for (const [nth, way] of ["later", "wait", "waitLater"].entries()) await blockUntilCharged(client, way, nth + 2);
    // The plugin of the last one is known only from its async context, when the call returns.
    assert.ok(named(lines()).filter(({ plugin }) => plugin === "hog").length >= 3);
    const { blocks, longestBlockMs, errors } = await costs(other);
    assert.deepEqual({ blocks, errors }, { blocks: 4, errors: 4 });
    assert.ok(longestBlockMs >= 1_000);
    const { blame } = (await other.call(plugins.inspect, { id: "hog" })).plugin;
    assert.equal(blame?.where, "event loop");
    assert.match(blame?.message ?? "", /^blocked the event loop for \d+\.\d s, at .+hog\.ts:\d+:\d+\)$/);
    assert.equal((await record())?.over, true);

    await client.request("hog.spin", { ms: BLOCK_MS }); // the fifth within a minute: quarantine
    const row = await until(async () => {
      const { plugins: rows } = await other.call(plugins.list, {});
      return rows.find(({ id, state }) => id === "hog" && state === "quarantined");
    }, "the quarantine");
    assert.match(String(row.reason), /^failed 5 times within 60 s/);
  });

  it("is not confused with a suspended process", async (t) => {
    const { running, client, lines, record } = await scene(t);
    await pause(STARTS_WITHIN_MS);
    const spinning = client.request("hog.spin", { ms: 400 }); // plugin code is running when the process is stopped
    await pause(100);
    running.child.kill("SIGSTOP");
    await pause(3_000);
    running.child.kill("SIGCONT");
    await spinning;
    await pause(600);
    assert.deepEqual([(await costs(client)).blocks, lines(), await record()], [0, [], undefined]);
    await client.request("hog.spin", { ms: BLOCK_MS }); // shows that the watchdog was running
    await until(() => isCharged(client, 1), "the charge");
  });

  const without: [what: string, env: Record<string, string>, entries: object][] = [
    ["SVC_WATCHDOG=off", { SVC_WATCHDOG: "off" }, {}],
    ["the plugin disabled", {}, { watchdog: { enabled: false } }],
  ];
  for (const [what, env, entries] of without)
    it(`goes unnoticed with ${what}`, async (t) => {
      const { client, lines, record } = await scene(t, env, entries);
      await pause(STARTS_WITHIN_MS);
      await client.request("hog.spin", { ms: BLOCK_MS });
      await pause(600);
      assert.deepEqual([(await costs(client)).blocks, lines(), await record()], [0, [], undefined]);
    });
});
