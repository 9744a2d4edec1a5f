/** Runs of two gateways on one database, seen and stopped from either; each client gets every event once. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { agentEvent, agents } from "@svc/sdk/agents";
import { chat, chatEvent } from "@svc/sdk/chat";
import { type FakeModelReply, startFakeModelServer, type TestGateway } from "@svc/sdk/testing";
import { withoutPostgres } from "../../postgres.ts";
import { soon, twoGateways } from "../two-gateways.ts";

const PLUGINS = ["storage-sqlite", "models", "provider-openai", "sessions", "tools", "agents", "chat"];

/** Two gateways with a model that answers slowly while `isSlow`. */
async function two(t: TestContext, defaults: object = {}, slowMs = 60_000) {
  const state = { isSlow: true, asked: 0 };
  const model = await startFakeModelServer({
    replies: (): FakeModelReply => {
      state.asked += 1;
      return state.isSlow ? { pieces: ["one ", "two"], delayMs: slowMs } : { pieces: ["one ", "two"], delayMs: 20 };
    },
  });
  t.after(() => model.close());
  const config = {
    models: { providers: { fake: { baseUrl: model.url, models: [{ id: "m" }] } } },
    agents: { defaults: { model: "fake/m", skipBootstrap: true, ...defaults } },
  };
  const [one, other] = await twoGateways(t, { plugins: PLUGINS, config, gateway: { drainMs: 60_000 } });
  return { one, other, state };
}

/** A client that notes the ends of runs. */
async function listener(gateway: TestGateway) {
  const client = await gateway.connect({ scopes: ["operator.admin"], caps: ["tool-events"] });
  const ends: string[] = [];
  const deltas: string[] = [];
  client.on(chatEvent, ({ runId, state, sessionKey }) => {
    if (state === "delta") deltas.push(runId);
    else ends.push(`${runId} ${state} ${sessionKey}`);
  });
  client.on(agentEvent, ({ runId, stream, data }) => {
    const { phase } = data as { phase?: string };
    if (stream === "lifecycle" && phase !== "start") ends.push(`${runId} ${phase}`);
  });
  return { client, ends, deltas };
}

const say = (runId: string, sessionKey = "main") => ({ sessionKey, message: "hello", idempotencyKey: runId });

describe("a run of another gateway", { skip: withoutPostgres() }, () => {
  it("is shown as active and can be stopped, under the key it was sent with", async (t) => {
    const { one, other, state } = await two(t);
    const [here, there] = [await listener(one), await listener(other)];
    await here.client.call(chat.send, say("r1"));
    await soon(() => state.asked === 1, "the model");
    const active = async () => (await there.client.call(chat.history, { sessionKey: "main", ids: true })).activeRuns;
    await soon(async () => (await active())?.[0]?.startedAt !== undefined, "the run");
    assert.deepEqual(await there.client.call(chat.abort, { sessionKey: "main" }), {
      ok: true,
      aborted: true,
      runIds: ["r1"],
    });
    const expected = ["r1 aborted main", "r1 end"];
    await soon(() => here.ends.length >= 2 && there.ends.length >= 2, "its end");
    assert.deepEqual([here.ends.toSorted(), there.ends.toSorted()], [expected, expected]);
    assert.deepEqual(await active(), []);
    assert.equal((await there.client.call(chat.abort, { sessionKey: "main", runId: "r1" })).aborted, false);
  });

  it("carries out what this one accepts for its session; clients get every event once", async (t) => {
    const { one, other, state } = await two(t);
    const [here, there] = [await listener(one), await listener(other)];
    await here.client.call(chat.send, say("r1"));
    await soon(() => state.asked === 1, "the model");
    assert.deepEqual(await there.client.call(chat.send, say("r2")), { runId: "r2", status: "started" });
    state.isSlow = false;
    await here.client.call(chat.abort, { sessionKey: "main", runId: "r1" });
    assert.equal((await there.client.call(agents.wait, { runId: "r2", timeoutMs: 30_000 })).status, "ok");
    const expected = ["r1 aborted main", "r1 end", "r2 end", "r2 final agent:main:main"];
    for (const { ends } of [here, there]) {
      await soon(() => ends.length >= 4, "their ends");
      assert.deepEqual(ends.toSorted(), expected);
    }
    assert.deepEqual(here.deltas, there.deltas);
    assert.ok(there.deltas.includes("r2"));
  });
});

describe("the runs of a gateway that stops while another one goes on", { skip: withoutPostgres() }, () => {
  it("end there if they have begun; the others begin at the other one", async (t) => {
    const { one, other, state } = await two(t, { maxConcurrent: 1 }, 1_500);
    const [here, there] = [await listener(one), await listener(other)];
    await here.client.call(chat.send, say("r1"));
    await soon(() => state.asked === 1, "the model");
    state.isSlow = false;
    await here.client.call(chat.send, say("after r1"));
    await here.client.call(chat.send, say("other session", "agent:main:other"));
    await soon(() => one.gateway.others === 1, "the other one to be known");
    const stopped = one.gateway.stop("test");
    const ended = async (runId: string) => (await there.client.call(agents.wait, { runId, timeoutMs: 30_000 })).status;
    assert.equal(await ended("other session"), "ok");
    assert.ok(!there.ends.some((end) => end.startsWith("r1 ")), "r1 goes on");
    assert.deepEqual([await ended("r1"), await ended("after r1")], ["ok", "ok"]);
    assert.equal(state.asked, 3, "no run was repeated");
    await stopped;
  });
});
