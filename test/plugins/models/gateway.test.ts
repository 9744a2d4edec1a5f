/** The bundled plugins in a complete gateway. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { config } from "@svc/sdk/config";
import { models } from "@svc/sdk/models";
import { startFakeModelServer, testGateway } from "@svc/sdk/testing";
import { publishedViolations } from "../../published.ts";

const PLUGINS = ["models", "provider-openai", "provider-anthropic", "provider-offline"];

async function start(t: TestContext) {
  const chat = await startFakeModelServer({ replies: [{ text: "from chat" }] });
  const messages = await startFakeModelServer({
    replies: [{ status: 429, retryAfter: 60 }, { text: "from messages" }],
  });
  t.after(() => Promise.all([chat.close(), messages.close()]));
  const accounts = [
    { name: "first", apiKey: "secret-key-1" },
    { name: "second", apiKey: "secret-key-2" },
  ];
  const cost = { input: 3, output: 15 };
  const config = {
    models: {
      default: "claude/claude-haiku-4-5",
      providers: {
        acme: { baseUrl: chat.url, models: [{ id: "large" }] },
        claude: {
          baseUrl: messages.url,
          api: "anthropic-messages",
          accounts,
          models: [{ id: "claude-haiku-4-5", name: "Haiku", contextWindow: 200_000, maxTokens: 1_000, cost }],
        },
      },
    },
  };
  return testGateway(t, { plugins: PLUGINS, config });
}

describe("models in a gateway", { timeout: 120_000 }, () => {
  it("lists models, fails over, and reports the state of the accounts", async (t) => {
    const { client } = await start(t);
    const listed = await client.call(models.list, {});
    assert.deepEqual(
      listed.models.map(({ provider, id }) => `${provider}/${id}`),
      ["acme/large", "claude/claude-haiku-4-5", "offline/offline"],
    );
    const tested = await client.call(models.test, {});
    assert.deepEqual([tested.account, tested.text], ["claude:second", "from messages"]);
    assert.ok((tested.cost ?? 0) > 0);
    assert.equal((await client.call(models.test, { model: "large" })).text, "from chat");

    const status = await client.call(models.status, {});
    assert.equal(status.default, "claude/claude-haiku-4-5");
    const [first, second] = status.providers.find(({ name }) => name === "claude")?.accounts ?? [];
    assert.equal(first?.lastFailure?.kind, "rate_limit");
    assert.ok((first.coolingUntil ?? 0) > Date.now());
    assert.equal(second?.lastFailure, undefined);
    assert.doesNotMatch(JSON.stringify([listed, status]), /secret-key|127\.0\.0\.1/u);
  });

  it("says which models can answer, and why not", async (t) => {
    const refusing = await startFakeModelServer({ replies: () => ({ status: 401 }) });
    t.after(() => refusing.close());
    const providers = {
      openai: { models: [{ id: "gpt-5" }] },
      refusing: { baseUrl: refusing.url, apiKey: "secret-key-1", models: [{ id: "r" }] },
      free: { baseUrl: "http://127.0.0.1:9/v1", models: [{ id: "f", reasoning: true, xhigh: true }] },
    };
    const list = [
      { id: "main", model: "free/f" },
      { id: "ops", model: "refusing/r" },
    ];
    const allowed = { "free/f": { alias: "fast" }, "refusing/r": {}, "openai/gpt-5": {} };
    const config = { models: { providers }, agents: { list, defaults: { models: allowed } } };
    const { client } = await testGateway(t, { config });
    await assert.rejects(client.call(models.test, { model: "refusing/r" }), { code: "UNAVAILABLE" });

    const listed = await client.call(models.list, {});
    assert.deepEqual(publishedViolations("ModelsListResult", listed), []);
    const rows = listed.models.map(({ id, available, unavailableReason: why, alias, tags }) => [
      id,
      ...[available, why, alias, tags?.join()].filter((value) => value !== undefined),
    ]);
    assert.deepEqual(rows, [
      ["f", true, "fast", "default"],
      ["gpt-5", false, "missing-auth"],
      ["r", false, "auth-failed"],
    ]);
    const [free, , refused] = listed.models;
    assert.deepEqual([free?.thinkingLevels.length, refused?.thinkingLevels], [7, [{ id: "off", label: "off" }]]);
    assert.ok((refused?.unavailableUntil ?? 0) > Date.now());

    const ofOps = await client.call(models.list, { agentId: "ops", view: "all" });
    assert.deepEqual(
      ofOps.models.filter(({ tags }) => tags?.includes("default")).map(({ id }) => id),
      ["r"],
    );
    assert.ok(
      ofOps.models.some(({ id }) => id === "offline"),
      "not allowed, so only in the view of all",
    );

    const auth = await client.call(models.authStatus, {});
    assert.deepEqual(
      auth.providers.map(({ provider, status, apiKey }) => [provider, status, apiKey?.source]),
      [
        ["openai", "missing", undefined],
        ["refusing", "expired", "config"],
        ["free", "static", undefined],
      ],
    );
    assert.doesNotMatch(JSON.stringify([listed, auth]), /secret-key/u);
  });

  it("gives a new gateway a model that answers", async (t) => {
    const { client } = await testGateway(t, { plugins: PLUGINS, config: {} });
    const { model, text } = await client.call(models.test, {});
    assert.deepEqual([model, text.slice(0, 2)], ["offline/offline", "I "]);
  });

  it("does not advertise methods for the command line", async (t) => {
    const { client } = await start(t);
    const methods = client.hello.features.methods.filter((name) => name.startsWith("models."));
    assert.deepEqual(methods, ["models.list", "models.authStatus"]);
  });

  it("requires operator.write for a test, which costs money", async (t) => {
    const { connect } = await start(t);
    const reader = await connect({ scopes: ["operator.read"] });
    await assert.rejects(reader.call(models.test, {}), { message: /operator\.write/u });
    assert.equal((await reader.call(models.status, {})).restricted, false);
  });

  it("refuses to start with an unsupported setting, with path and reason", async (t) => {
    const section = { providers: { acme: { auth: "oauth", models: [] } } };
    await assert.rejects(
      testGateway(t, { plugins: ["models"], config: { models: section } }),
      /models\.providers\.acme\.auth: "oauth" is not supported/u,
    );
  });

  it("applies a changed section without a restart, and refuses an invalid one before it is written", async (t) => {
    const stateDir = await mkdtemp(join(tmpdir(), "svc-models-"));
    t.after(() => rm(stateDir, { recursive: true, force: true }));
    const server = await startFakeModelServer({ replies: () => ({ text: "here" }) });
    t.after(() => server.close());
    const acme = { baseUrl: "http://127.0.0.1:9/v1", models: [{ id: "m" }] };
    await writeFile(join(stateDir, "svc.json"), JSON.stringify({ models: { providers: { acme } } }));
    const { client, gateway } = await testGateway(t, {
      plugins: [...PLUGINS, "config"],
      stateDir,
      gateway: { config: undefined, env: { SVC_STATE_DIR: stateDir } },
    });
    const patch = async (provider: object) => {
      const { hash } = await client.call(config.get, {});
      const raw = JSON.stringify({ models: { providers: { acme: provider } } });
      return client.call(config.patch, { raw, baseHash: hash });
    };
    const { restart } = await patch({ baseUrl: server.url });
    assert.equal(restart.scheduled, false);
    assert.equal((await client.call(models.test, {})).text, "here");
    await assert.rejects(patch({ auth: "oauth" }), (error: Error & { details?: unknown }) => {
      assert.match(JSON.stringify(error.details), /models\.providers\.acme\.auth.*is not supported/u);
      return true;
    });
    assert.equal((await client.call(models.test, {})).text, "here");
    const report = gateway.plugins().find(({ id }) => id === "models");
    assert.deepEqual([report?.generation, report?.errors], [1, 0]);
  });
});
