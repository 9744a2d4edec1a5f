/** Tools about sessions in a whole gateway: an agent asks another one, within the reach that is configured. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { textOf } from "@svc/sdk/models";
import { sessions, Sessions } from "@svc/sdk/sessions";
import { type FakeModelReply, startFakeModelServer, testGateway } from "@svc/sdk/testing";

const PLUGINS = ["storage-sqlite", "sessions", "agents", "models", "provider-openai", "tools"];

async function scene(t: TestContext, replies: readonly FakeModelReply[]) {
  const server = await startFakeModelServer({ replies });
  t.after(() => server.close());
  const found: { sessions?: Sessions } = {};
  const reader = definePlugin({
    id: "reader",
    api: "^1.0.0",
    requires: { sessions: Sessions },
    setup: (gateway) => gateway.start(() => void (found.sessions = gateway.services.sessions)),
  });
  const { client } = await testGateway(t, {
    plugins: [...PLUGINS, reader],
    config: {
      models: { providers: { fake: { baseUrl: server.url, apiKey: "key-1", models: [{ id: "m", name: "M" }] } } },
      agents: { defaults: { skipBootstrap: true, model: "fake/m" }, list: [{ id: "main" }, { id: "bob" }] },
    },
  });
  const stored = found.sessions ?? assert.fail("the gateway has started");
  const run = async (idempotencyKey: string) => {
    await client.call(agents.run, { message: "go", agentId: "main", idempotencyKey });
    return client.call(agents.wait, { runId: idempotencyKey, timeoutMs: 20_000 });
  };
  const results = async (key = "agent:main:main") =>
    (await stored.transcript(key, 50)).flatMap(({ message }) =>
      message.role === "toolResult" ? [textOf(message)] : [],
    );
  return { client, stored, run, results };
}

const CHILD = "agent:main:subagent:desk";

const asks = (name: string, args: object): FakeModelReply => ({
  toolCalls: [{ name, arguments: { ...args } }],
});

describe("an agent and other sessions", { timeout: 120_000 }, () => {
  it("asks a sub-agent of before again, by its label, and reads what was said there", async (t) => {
    const { client, stored, run, results } = await scene(t, [
      asks("sessions_list", {}),
      asks("sessions_send", { label: "Desk", message: "how many?" }),
      { text: "There are 12." }, // the sub-agent
      asks("sessions_history", { sessionKey: CHILD }),
      { text: "12, says the desk." },
    ]);
    await client.call(sessions.patch, { key: CHILD, label: "Desk", spawnedBy: "agent:main:main" });
    assert.equal((await run("r1")).status, "ok");
    const [listed = "", sent = "", history = ""] = await results();
    assert.match(listed, /agent:main:subagent:desk "Desk"/);
    assert.match(sent, /"status":"ok","reply":"There are 12\."/);
    assert.match(history, /user: \[Message from session agent:main:main\]\nhow many\?[\s\S]*assistant: There are 12\./);
    assert.equal((await stored.transcript(CHILD, 10)).length, 2);
  });

  it("reaches no other one by default", async (t) => {
    const { client, stored, run, results } = await scene(t, [
      asks("sessions_send", { label: "Desk", message: "how many?" }),
      asks("sessions_history", { sessionKey: "agent:bob:desk" }),
      { text: "I cannot tell." },
    ]);
    await client.call(sessions.patch, { key: "agent:bob:desk", label: "Desk" });
    assert.equal((await run("r1")).status, "ok");
    for (const refusal of await results()) assert.match(refusal, /^no session .* within reach/);
    assert.equal((await results()).length, 2);
    assert.equal((await stored.transcript("agent:bob:desk", 10)).length, 0);
  });
});
