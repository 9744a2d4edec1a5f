/** A real gateway whose agent calls a tool of a real server. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin } from "@svc/sdk";
import { startFakeModelServer, testGateway } from "@svc/sdk/testing";
import { Tools } from "@svc/sdk/tools";
import { withoutSandbox } from "../../bubblewrap.ts";
import { root } from "../../checkout.ts";
import { principal } from "../agents/script.ts";
import { isRunning, pidsIn, program } from "./scene.ts";

const skip = await withoutSandbox();
const scene = { surface: "run", agentId: "main", sessionKey: "agent:main:main", principal } as const;

/** Shows the test which tools exist. */
function watcher() {
  let tools: Tools | undefined;
  const plugin = definePlugin({
    id: "watcher",
    api: "^1.0.0",
    requires: { tools: Tools },
    setup: (gateway) => void (tools = gateway.services.tools),
  });
  const names = () => tools?.specs(scene).map(({ name }) => name) ?? [];
  /** Waits until the tool is offered. */
  const offered = async (tool: string) => {
    while (!names().includes(tool)) await new Promise((resolve) => setImmediate(resolve));
  };
  return { plugin, names, offered };
}

async function gatewayWith(t: TestContext, servers: Record<string, object>, tool = "docs__echo") {
  const call = { name: tool, arguments: { text: "from the agent" } };
  const model = await startFakeModelServer({ replies: [{ toolCalls: [call] }, { text: "done" }] });
  t.after(() => model.close());
  const { plugin, names, offered } = watcher();
  const running = await testGateway(t, {
    plugins: ["storage-sqlite", "sessions", "models", "provider-openai", "tools", "agents", "mcp", plugin],
    config: {
      models: { providers: { fake: { baseUrl: model.url, models: [{ id: "fake-model" }] } } },
      mcp: { servers },
    },
  });
  return { ...running, model, names, offered };
}

describe("an agent of a real gateway", () => {
  it("calls a tool of a server, and the server ends with the gateway", async (t) => {
    const servers = { docs: program("parent", "stubborn"), mute: program("mute") };
    const { client, gateway, model, names, offered } = await gatewayWith(t, servers);
    await offered("docs__echo");
    const pids = pidsIn(names());
    await client.request("agent", { message: "Say it", agentId: "main", idempotencyKey: "k1" });
    await client.request("agent.wait", { runId: "k1", timeoutMs: 20_000 });
    assert.match(JSON.stringify(model.requests[1]?.body), /you said: from the agent/);
    assert.deepEqual(pids.map(isRunning), [true, true]);
    await gateway.stop();
    assert.deepEqual(pids.map(isRunning), [false, false]);
  });

  it("calls a tool of a server in the sandbox, which sees no file of the gateway", { skip }, async (t) => {
    const { command, args } = program();
    const words = [command, ...args].map((word) => `'${word}'`).join(" ");
    // Its directory is `<state>/plugins/mcp/docs`. Its tool returns the environment, and with it the files it found.
    const text = `export FOUND="$(ls -A ../../..; ls -A ..; cat ../../../svc.json 2>&1)"; exec ${words}`;
    const sandbox = { mode: "require", readPaths: [root] };
    const docs = { command: "/bin/sh", args: ["-c", text], sandbox };
    const { client, model, offered } = await gatewayWith(t, { docs }, "docs__environment");
    await offered("docs__environment");
    await client.request("agent", { message: "Say it", agentId: "main", idempotencyKey: "k1" });
    await client.request("agent.wait", { runId: "k1", timeoutMs: 20_000 });
    assert.match(JSON.stringify(model.requests[1]?.body), /plugins\W+ndocs\W+ncat: .*No such file/);
  });
});
