/** Two gateways on one database: one is suspended during a run, or killed. Spec: design/scaleout.md, S-03. */
import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import { cron } from "@svc/sdk/cron";
import { type FakeModelReply, startFakeModelServer } from "@svc/sdk/testing";
import { directory } from "../directory.ts";
import { withoutPostgres } from "../postgres.ts";
import { until } from "../until.ts";
import { startGateways } from "./gateways.ts";

const LEASE_MS = 10_000;
const limited = { timeout: 300_000, skip: withoutPostgres() };

/** Two gateways, and a model whose answers take long while `isSlow`. */
async function scene(t: TestContext, envOf?: (number: number) => Record<string, string>) {
  const model = { isSlow: true, asked: 0 };
  const server = await startFakeModelServer({
    replies: (): FakeModelReply => {
      model.asked += 1;
      return model.isSlow ? { pieces: ["never ", "heard"], delayMs: 60_000 } : { pieces: ["heard"], delayMs: 1 };
    },
  });
  t.after(() => server.close());
  const config = directory(t);
  const settings = {
    models: { providers: { fake: { baseUrl: server.url, models: [{ id: "m" }] } } },
    agents: { defaults: { model: "fake/m", skipBootstrap: true } },
  };
  await writeFile(join(config, "svc.json"), JSON.stringify(settings));
  const gateways = await startGateways(t, 2, config, { envOf });
  const [one, two] = [await gateways.running[0]?.connect(), await gateways.running[1]?.connect()];
  assert.ok(one && two);
  t.after(() => Promise.all([one.close(), two.close()]));
  const runId = "the-run";
  await one.call(chat.send, { sessionKey: "main", message: "hello", idempotencyKey: runId });
  await until(() => model.asked === 1, "the model is asked");
  const answers = async () => {
    const { messages } = await two.call(chat.history, { sessionKey: "main" });
    return messages.map((message) => (message as { role: string }).role);
  };
  return { model, gateways, one, two, runId, answers };
}

const TICK = {
  name: "tick",
  text: "tick",
  sessionKey: "agent:main:ticks",
  wakeMode: "next-heartbeat",
  schedule: { kind: "every", everyMs: 1_000 },
} as const;

it(
  "a run of a suspended gateway is taken over within the lease and a second, and is answered once",
  limited,
  async (t) => {
    const { model, gateways, two, runId, answers } = await scene(t);
    model.isSlow = false;
    const resume = gateways.suspend(0);
    const begun = performance.now();
    await until(() => model.asked === 2, "the other gateway asks the model");
    const tookMs = performance.now() - begun;
    t.diagnostic(`taken over after ${Math.round(tookMs)} ms`);
    assert.ok(tookMs < LEASE_MS + 1_000, `taken over after ${tookMs} ms`);
    assert.equal((await two.call(agents.wait, { runId, timeoutMs: 60_000 })).status, "ok");
    assert.deepEqual(await answers(), ["user", "assistant"]);

    await new Promise((resolve) => setTimeout(resolve, 3_000)); // 13 s in all
    resume();
    const [first] = gateways.running;
    await until(() => /lost its lease/.test(first?.log() ?? ""), "it notices");
    const again = await first?.connect();
    await until(
      async () =>
        (await again?.request("agents.list", {}).then(
          () => true,
          () => false,
        )) === true,
      "its plugins run again",
    );
    assert.equal((await again?.call(agents.wait, { runId, timeoutMs: 0 }))?.status, "ok");
    assert.deepEqual(await answers(), ["user", "assistant"], "the stale owner has written nothing");
    await again?.call(chat.send, { sessionKey: "main", message: "and now", idempotencyKey: "next" });
    assert.equal((await again?.call(agents.wait, { runId: "next", timeoutMs: 60_000 }))?.status, "ok");
    await again?.close();
  },
);

it("a run of a killed gateway is taken over, and its scheduled jobs go on", limited, async (t) => {
  const { model, gateways, two, runId } = await scene(t);
  const job = await two.call(cron.add, TICK);
  model.isSlow = false;
  await gateways.kill(0);
  assert.equal((await two.call(agents.wait, { runId, timeoutMs: 60_000 })).status, "ok");
  await until(async () => {
    const { entries } = await two.call(cron.runs, { id: job.id });
    return entries.filter(({ status }) => status === "ok").length >= 3;
  }, "three ticks");
});

it("clocks of gateways that differ by ten minutes change nothing", limited, async (t) => {
  const minutes = [-5, 5];
  const skewed = (number: number) => {
    const code = `const now = Date.now.bind(Date); Date.now = () => now() + ${(minutes[number] ?? 0) * 60_000};`;
    return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` };
  };
  const { model, gateways, one, two, runId } = await scene(t, skewed);
  const job = await one.call(cron.add, TICK);
  const begun = Date.now();
  const records = async () => (await two.call(cron.runs, { id: job.id, limit: 200 })).entries;
  await until(async () => (await records()).length >= 5, "five ticks");
  const tookMs = Date.now() - begun;
  const due = (await records()).map(({ dueAtMs }) => Number(dueAtMs)).toSorted((a, b) => a - b);
  assert.ok(due.length <= tookMs / 1_000 + 2, `${due.length} records in ${tookMs} ms`);
  assert.equal(new Set(due).size, due.length, "one record each");
  for (const at of due) assert.ok(Math.abs(at - Date.now()) < 60_000, `due at ${new Date(at).toISOString()}`);
  model.isSlow = false;
  await gateways.kill(0);
  assert.equal((await two.call(agents.wait, { runId, timeoutMs: 60_000 })).status, "ok");
});
