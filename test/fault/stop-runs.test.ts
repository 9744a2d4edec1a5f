/**
 * Runs across a stop and a crash, in a real process with a model server that answers for some seconds. A planned stop loses
 * no accepted run and no reply; after `kill -9`, runs that called no tool continue under their id.
 * Spec: design/reliability.md lines 2, 4 and 8.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { agents } from "@svc/sdk/agents";
import { chat, chatEvent } from "@svc/sdk/chat";
import type { GatewayClient } from "@svc/sdk/client";
import { cron } from "@svc/sdk/cron";
import { type FakeModelReply, startFakeModelServer } from "@svc/sdk/testing";
import { webhooks } from "@svc/sdk/webhooks";
import { startGatewayProcess } from "../gateway-process.ts";
import { pause, refusalOf } from "./workload.ts";

/** An answer in ten pieces of 300 ms each. */
const SLOW: FakeModelReply = { pieces: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"], delayMs: 300 };
const WHOLE = "0123456789";
/** Number of sessions, and concurrency of their lane. */
const [SESSIONS, PLACES] = [5, 4];
const HOOK_TOKEN = "a-token-of-hooks-for-this-test-alone";

async function stage(t: TestContext) {
  const server = await startFakeModelServer({ replies: () => SLOW });
  const stateDir = await mkdtemp(join(tmpdir(), "svc-stop-"));
  const models = { providers: { fake: { baseUrl: server.url, models: [{ id: "slow" }] } } };
  const defaults = { model: "fake/slow", maxConcurrent: PLACES, skipBootstrap: true };
  const hooks = { enabled: true, token: HOOK_TOKEN };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify({ models, hooks, agents: { defaults } }));
  t.after(async () => {
    await server.close();
    await rm(stateDir, { recursive: true, force: true });
  });
  return { server, stateDir };
}

/** Sends one message to each session. @returns the ids of the runs */
async function sendAll(client: GatewayClient): Promise<readonly string[]> {
  const runIds = Array.from({ length: SESSIONS }, (_, index) => `run-${index}`);
  for (const runId of runIds) {
    const sent = await client.call(chat.send, { sessionKey: runId, message: "count", idempotencyKey: runId });
    assert.deepEqual(sent, { runId, status: "started" });
  }
  return runIds;
}

async function endsOf(runIds: readonly string[], client: GatewayClient): Promise<string[]> {
  const ends = await Promise.all(runIds.map((runId) => client.call(agents.wait, { runId, timeoutMs: 30_000 })));
  return ends.map(({ status }) => status);
}

async function lastReply(sessionKey: string, client: GatewayClient): Promise<string> {
  const { messages } = await client.call(chat.history, { sessionKey });
  return JSON.stringify(messages.at(-1));
}

const all = <T>(value: T): T[] => Array.from({ length: SESSIONS }, () => value);

it("SIGTERM: runs in progress end and their replies are delivered, others begin after the restart", async (t) => {
  const { server, stateDir } = await stage(t);
  const gateway = await startGatewayProcess(stateDir);
  t.after(() => gateway.kill());
  const client = await gateway.connect();
  const told = new Map<string, string>();
  client.on(chatEvent, ({ runId, state, message }) => {
    if (state !== "delta") told.set(runId, `${state} ${JSON.stringify(message)}`);
  });
  const runIds = await sendAll(client);
  while (server.requests.length < PLACES) await pause(20);
  const waiting = client.call(agents.wait, { runId: "run-4", timeoutMs: 60_000 }).catch(refusalOf);
  await pause(300);
  const stopped = gateway.kill("SIGTERM");
  await pause(300);
  const late = { sessionKey: "late", message: "too late", idempotencyKey: "late" };
  const refusals = [
    await client.call(chat.send, late).catch(refusalOf),
    await client.call(agents.run, late).catch(refusalOf),
    await waiting,
  ];
  for (const refusal of refusals) {
    assert.ok("code" in refusal, "it was accepted");
    assert.equal(refusal.code, "UNAVAILABLE");
    assert.match(refusal.message, /the gateway is stopping/);
  }
  assert.match(JSON.stringify(await client.call(chat.history, { sessionKey: "run-0" })), /count/, "reads are answered");
  assert.equal(await stopped, 0);
  assert.deepEqual([...told.keys()].toSorted(), runIds.slice(0, PLACES));
  for (const end of told.values()) assert.match(end, new RegExp(`^final .*${WHOLE}`));

  const next = await startGatewayProcess(stateDir);
  t.after(() => next.kill());
  const again = await next.connect();
  assert.deepEqual(await endsOf(runIds, again), all("ok"));
  for (const runId of runIds) assert.match(await lastReply(runId, again), new RegExp(WHOLE), runId);
  assert.equal(server.requests.length, SESSIONS, "no run was asked twice");
});

it("SIGTERM: webhooks and jobs that wait or arrive meanwhile are done after the restart", async (t) => {
  const { server, stateDir } = await stage(t);
  const gateway = await startGatewayProcess(stateDir, {}, { logLevel: "warn" });
  t.after(() => gateway.kill());
  const client = await gateway.connect();
  const post = async (): Promise<string> => {
    const response = await fetch(`${gateway.url.replace("ws", "http")}/hooks/agent`, {
      method: "POST",
      headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ message: "count", name: "Hook", wakeMode: "next-heartbeat" }),
    });
    const { ok, runId } = (await response.json()) as { ok: boolean; runId: string };
    assert.ok(ok);
    return runId;
  };
  const job = await client.call(cron.add, {
    name: "counts",
    schedule: { kind: "every", everyMs: 3_600_000 },
    sessionTarget: "isolated",
    payload: { kind: "agentTurn", message: "count" },
  });
  const runIds: string[] = [];
  while (runIds.length < SESSIONS) runIds.push(await post());
  while (server.requests.length < PLACES) await pause(20);
  const stopped = gateway.kill("SIGTERM");
  await pause(300);
  runIds.push(await post());
  const refusal = await client.call(cron.run, { id: job.id, mode: "force" }).catch(refusalOf);
  assert.equal("code" in refusal && refusal.code, "UNAVAILABLE");
  assert.equal(await stopped, 0);
  assert.equal(server.requests.length, PLACES, "nothing began during the stop");
  assert.doesNotMatch(gateway.log(), /failed/);

  const next = await startGatewayProcess(stateDir);
  t.after(() => next.kill());
  const again = await next.connect();
  for (const runId of runIds) {
    const found = async () => (await again.call(webhooks.run, { runId })).run;
    while (["queued", "running"].includes((await found()).status)) await pause(100);
    const { status, summary } = await found();
    assert.deepEqual({ status, summary }, { status: "done", summary: WHOLE });
  }
  const jobEnds = async () => (await again.call(cron.runs, { id: job.id })).entries.map(({ status }) => status);
  while ((await jobEnds()).length === 0) await pause(100);
  assert.deepEqual(await jobEnds(), ["ok"]);
  assert.equal(server.requests.length, runIds.length + 1, "nothing was asked twice");
});

it("kill -9: runs that called no tool continue after the restart under their id", async (t) => {
  const { server, stateDir } = await stage(t);
  const gateway = await startGatewayProcess(stateDir);
  t.after(() => gateway.kill());
  const client = await gateway.connect();
  const runIds = await sendAll(client);
  while (server.requests.length < PLACES) await pause(20);
  await pause(500);
  await gateway.kill();
  await client.close();
  const next = await startGatewayProcess(stateDir);
  t.after(() => next.kill());
  const again = await next.connect();
  assert.deepEqual(await endsOf(runIds, again), all("ok"));
  for (const runId of runIds) {
    const { messages } = await again.call(chat.history, { sessionKey: runId });
    assert.equal(messages.length, 2, `${runId}: the message once, the reply once`);
    assert.match(await lastReply(runId, again), new RegExp(WHOLE), runId);
  }
});
