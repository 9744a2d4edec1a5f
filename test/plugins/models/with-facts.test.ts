/** Facts and local servers in a whole gateway. */
// own process: it sets OLLAMA_HOST, and allows discovery
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, unavailable } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { ModelProvider, models } from "@svc/sdk/models";
import { sessions } from "@svc/sdk/sessions";
import { testGateway } from "@svc/sdk/testing";
import { usage } from "@svc/sdk/usage";

const PLUGINS = ["storage-sqlite", "sessions", "agents", "models", "model-facts", "tools", "usage"];
const USED = { input: 1_000, output: 100, cacheRead: 200, cacheWrite: 40, totalTokens: 1_340 };

/** Answers in place of Anthropic, at its default address. */
const stub = definePlugin({
  id: "stub",
  api: "^1.0.0",
  setup(gateway) {
    gateway.extend(ModelProvider, "anthropic-messages", {
      async *stream() {
        yield { type: "text", delta: "hello" };
        yield { type: "finish", reason: "stop", usage: USED };
      },
      listModels: async ({ apiKey }) =>
        apiKey === "good"
          ? [
              { id: "claude-haiku-4-5", name: "Haiku", provider: "anthropic" },
              { id: "claude-new", name: "New", provider: "anthropic" },
            ]
          : unavailable("the key was refused", { details: { kind: "auth" } }),
    });
    gateway.extend(ModelProvider, "openai-completions", {
      async *stream() {
        yield { type: "finish", reason: "stop" };
      },
    });
  },
});

async function ollama(t: TestContext): Promise<void> {
  const server = createServer((request, response) => {
    const tags = { models: [{ name: "qwen3:8b" }] };
    const body = request.url === "/api/tags" ? tags : { model_info: { "qwen3.context_length": 40_960 } };
    response.end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const before = { ...process.env };
  delete process.env["SVC_SKIP_MODEL_DISCOVERY"];
  process.env["OLLAMA_HOST"] = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.env["GEMINI_API_KEY"] = "in-the-environment";
  t.after(() => {
    process.env = before;
    server.closeAllConnections();
    server.close();
  });
}

const start = (t: TestContext, section: object) =>
  testGateway(t, {
    plugins: [...PLUGINS, stub],
    config: { models: { discovery: { lmstudio: false }, ...section }, agents: { defaults: { skipBootstrap: true } } },
  });

describe("a gateway with public facts", { timeout: 120_000 }, () => {
  it("needs only a key: models, windows and costs are known", async (t) => {
    const { client } = await start(t, { providers: { anthropic: { apiKey: "good" } } });
    const listed = await client.call(models.list, {});
    assert.ok(listed.models.some(({ id, contextWindow }) => id === "claude-sonnet-5-5" && contextWindow === 1_000_000));

    await client.call(agents.run, { message: "hi", idempotencyKey: "r1" });
    assert.equal((await client.call(agents.wait, { runId: "r1", timeoutMs: 20_000 })).status, "ok");
    const { sessions: rows, defaults } = await client.call(sessions.list, {});
    assert.deepEqual([rows[0]?.contextTokens, defaults.contextTokens], [1_000_000, 1_000_000]);
    const { totals } = await client.call(usage.cost, {});
    const expected = (1_000 * 2 + 100 * 10 + 200 * 0.1 + 40 * 2.5) / 1e6;
    assert.ok(Math.abs(totals.totalCost - expected) < 1e-9, String(totals.totalCost));
    assert.equal(totals.missingCostEntries, 0);

    const known = await client.call(models.known, {});
    const state = (ref: string) => known.models.find(({ provider, id }) => `${provider}/${id}` === ref)?.state;
    assert.deepEqual([state("anthropic/claude-opus-5"), state("openai/gpt-5")], ["usable", "unconfigured"]);
    assert.match(known.asOf[0] ?? "", /^20\d\d-/u);
  });

  it("asks a server for its models, with the configured key or another one, and shows neither", async (t) => {
    const { client } = await start(t, {
      providers: { anthropic: { apiKey: "good", models: [{ id: "claude-haiku-4-5" }] } },
    });
    const { servers } = await client.call(models.scan, { provider: "anthropic" });
    const [server] = servers;
    assert.deepEqual(
      server?.models.map(({ id, isNew, cost }) => [id, isNew, cost?.input]),
      [
        ["claude-haiku-4-5", false, 1],
        ["claude-new", true, undefined],
      ],
    );
    const other = await client.call(models.scan, { provider: "anthropic", account: { apiKey: "bad-key" } });
    assert.deepEqual([other.servers[0]?.problemKind, other.servers[0]?.total], ["auth", 0]);
    assert.doesNotMatch(JSON.stringify([servers, other]), /good|bad-key/u);
    await assert.rejects(client.call(models.scan, { provider: "nobody" }), {
      code: "NOT_FOUND",
      message: /known ones: /u,
    });
    await assert.rejects(client.call(models.scan, { account: { apiKey: "k" } }), /requires provider/u);
    const unsupported = await client.call(models.scan, { provider: "groq" });
    assert.equal(unsupported.servers[0]?.problemKind, "unsupported");
  });

  it("finds a local server, uses it where it is named, and only reports keys of the environment", async (t) => {
    await ollama(t);
    const { client } = await start(t, {});
    // On a busy machine, the server may miss the time that a list waits for it.
    while ((await client.call(models.scan, {})).servers.length === 0);
    const listed = await client.call(models.list, {});
    assert.deepEqual(
      listed.models.map(({ provider, id, contextWindow }) => [provider, id, contextWindow]),
      [["ollama", "qwen3:8b", 40_960]],
    );
    assert.equal((await client.call(models.status, { model: "qwen3:8b" })).resolved, "ollama/qwen3:8b");
    assert.equal(
      (await client.call(models.status, { model: "ollama/not-loaded-yet" })).resolved,
      "ollama/not-loaded-yet",
    );
    assert.equal((await client.call(models.status, {})).default, undefined, "a found model is no default");
    const scanned = await client.call(models.scan, {});
    assert.deepEqual(
      scanned.servers.map(({ provider, configured, models: all }) => [provider, configured, all.length]),
      [["ollama", false, 1]],
    );
    assert.deepEqual(
      scanned.environment.filter(({ provider }) => provider === "google"),
      [{ variable: "GEMINI_API_KEY", provider: "google", configured: false }],
    );
    assert.deepEqual((await client.call(models.scan, { provider: "vllm" })).environment, []);
    assert.doesNotMatch(JSON.stringify([listed, scanned]), /in-the-environment/u);
  });

  it("requires an admin to ask servers, and advertises none of the methods for the command line", async (t) => {
    const { client, connect } = await start(t, {});
    const writer = await connect({ scopes: ["operator.write"] });
    await assert.rejects(writer.call(models.scan, {}), /operator\.admin/u);
    const methods = client.hello.features.methods.filter((name) => name.startsWith("models."));
    assert.deepEqual(methods, ["models.list", "models.authStatus"]);
  });
});
