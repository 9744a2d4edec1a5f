/** Key references: looked up for each request, with failover if a key is missing. Spec: http/config.md §6. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { unavailable, violations, withDefaults } from "@svc/sdk";
import type { ModelProvider, ProviderAccount } from "@svc/sdk/models";
import type { SecretRef, Secrets } from "@svc/sdk/secrets";
import { ModelsConfig } from "../../../plugins/models/config.ts";
import { createModels } from "../../../plugins/models/models.ts";
import { createClients } from "../../../plugins/provider-openai/clients.ts";
import { createProvider } from "../../../plugins/provider-openai/provider.ts";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";
import { startFakeModelServer } from "../../../sdk/testing/fake-model-server.ts";
import { extensionView, hook } from "../emitters.ts";

const ref = (id: string): SecretRef => ({ source: "vault", id });

/** A desk with keys in `vault` and a real provider. */
function setup(section: object, vault: Record<string, string> | undefined) {
  const clock = createFakeClock();
  const provider = createProvider(createClients({ clock }));
  const asked: ProviderAccount[] = [];
  const value: ModelProvider = {
    stream(request, account, signal) {
      asked.push(account);
      return provider.stream(request, account, signal);
    },
  };
  const providers = extensionView({ "openai-completions": value });
  const revealed: string[] = [];
  const secrets: Pick<Secrets, "reveal"> = {
    async reveal(setting) {
      if (typeof setting === "string") return setting;
      revealed.push(setting.id);
      return vault?.[setting.id] ?? unavailable(`the secret of ${setting.source} is not there`);
    },
  };
  const config = withDefaults(ModelsConfig, { providers: { acme: section } });
  assert.deepEqual(violations(ModelsConfig, config), []);
  const desk = createModels({
    config,
    providers,
    requestHook: hook(),
    clock,
    secrets: () => (vault ? secrets : undefined),
  });
  async function ask(signal = new AbortController().signal): Promise<string> {
    const content = [{ type: "text", text: "hi" }] as const;
    const messages = [{ role: "user", content, timestamp: 1 }] as const;
    let text = "";
    for await (const event of desk.stream({ model: desk.resolve(), system: "", messages, tools: [] }, signal))
      if (event.type === "text") text += event.delta;
    return text;
  }
  const names = () => asked.map(({ name }) => name);
  return { desk, ask, asked, names, revealed };
}

async function server(t: TestContext, apiKey?: string) {
  const fake = await startFakeModelServer({ replies: () => ({ text: "answer" }), ...(apiKey ? { apiKey } : {}) });
  t.after(() => fake.close());
  return fake;
}

describe("a key that is a reference", { timeout: 120_000 }, () => {
  it("is looked up for each request, and a new key is used at once", async (t) => {
    const { url, requests } = await server(t);
    const vault = { key: "first" };
    const { ask, revealed, desk } = setup({ baseUrl: url, apiKey: ref("key"), models: [{ id: "m" }] }, vault);
    desk.list();
    assert.deepEqual(
      desk.accounts("acme").map(({ name }) => name),
      ["acme"],
    );
    assert.deepEqual(revealed, [], "a listing looks nothing up");
    assert.equal(await ask(), "answer");
    vault.key = "second";
    await ask();
    assert.deepEqual(
      requests.map(({ headers }) => headers.authorization),
      ["Bearer first", "Bearer second"],
    );
  });

  it("is sent as the configured header", async (t) => {
    const { url, requests } = await server(t);
    const section = {
      baseUrl: url,
      apiKey: ref("key"),
      authHeader: false,
      headers: { "x-team": "blue" },
      models: [{ id: "m" }],
    };
    await setup(section, { key: "k" }).ask();
    const [request] = requests;
    assert.deepEqual([request?.headers["x-api-key"], request?.headers["x-team"]], ["k", "blue"]);
  });

  it("is refused with the reason if no plugin resolves secrets", async () => {
    const section = { baseUrl: "http://127.0.0.1:9/v1", apiKey: ref("key"), models: [{ id: "m" }] };
    const { ask, asked } = setup(section, undefined);
    await assert.rejects(ask(), {
      code: "UNAVAILABLE",
      message:
        /^the key of model provider "acme" is a reference, and no running plugin resolves references: enable the plugin secrets; see `svc plugins why secrets`/u,
    });
    assert.deepEqual(asked, [], "the server is not asked without its key");
  });

  it("that is missing makes the next account answer, and is used again once it exists", async (t) => {
    const { url } = await server(t);
    const vault: Record<string, string> = { b: "2" };
    const accounts = [
      { name: "a", apiKey: ref("a") },
      { name: "b", apiKey: ref("b") },
    ];
    const { ask, names, desk } = setup({ baseUrl: url, accounts, models: [{ id: "m" }] }, vault);
    assert.equal(await ask(), "answer");
    assert.deepEqual(names(), ["acme:b"]);
    assert.equal(desk.cooldowns.failureOf("acme:a")?.kind, "auth");
    await ask();
    vault["a"] = "1";
    await ask();
    assert.deepEqual(names(), ["acme:b", "acme:b", "acme:a"]);
    assert.equal(desk.cooldowns.failureOf("acme:a"), undefined);
  });

  it("that the server rejected is tried first again after it was replaced", async (t) => {
    const strict = await server(t, "right");
    const second = await server(t);
    const vault = { a: "wrong", b: "2" };
    const accounts = [
      { name: "a", apiKey: ref("a"), baseUrl: strict.url },
      { name: "b", apiKey: ref("b"), baseUrl: second.url },
    ];
    const { ask, names } = setup({ accounts, models: [{ id: "m" }] }, vault);
    await ask();
    await ask();
    vault.a = "right";
    await ask();
    assert.deepEqual(names(), ["acme:a", "acme:b", "acme:b", "acme:a"]);
  });

  it("is not awaited after an abort", async () => {
    const section = { baseUrl: "http://127.0.0.1:9/v1", apiKey: ref("key"), models: [{ id: "m" }] };
    const abort = new AbortController();
    const { ask } = setup(section, { key: new Promise(() => {}) as never }); // a vault that never answers
    const asking = ask(abort.signal);
    setImmediate(() => abort.abort(new Error("gone")));
    await assert.rejects(asking, { message: "gone" });
  });

  const wrong: [why: string, apiKey: unknown][] = [
    ["nothing", ""],
    ["a reference without id", { source: "env" }],
    ["a provider that is no name", { source: "env", id: "A", provider: "A" }],
  ];
  for (const [why, apiKey] of wrong) {
    it(`is refused as ${why}`, () => {
      for (const entry of [{ apiKey }, { accounts: [{ name: "a", apiKey }] }]) {
        const config = withDefaults(ModelsConfig, { providers: { acme: { models: [], ...entry } } });
        assert.match(violations(ModelsConfig, config)[0]?.path ?? "", /apiKey/u);
      }
    });
  }
});

describe("an account that is lent", { timeout: 120_000 }, () => {
  const none = new AbortController().signal;

  it("has its key, its address and its headers", async () => {
    const section = { baseUrl: "http://a/v1", apiKey: ref("key"), headers: { "x-team": "a" }, models: [] };
    const { desk } = setup(section, { key: "first" });
    const lent = await desk.use("acme", async (account) => account, none);
    assert.deepEqual(lent, { name: "acme", baseUrl: "http://a/v1", apiKey: "first", headers: { "x-team": "a" } });
  });

  it("is the next one after a failure, and the failed one cools down for models, too", async () => {
    const accounts = [{ name: "one" }, { name: "two" }].map((one) => ({ ...one, apiKey: one.name }));
    const { desk } = setup({ baseUrl: "http://a/v1", accounts, models: [{ id: "m" }] }, undefined);
    const used: string[] = [];
    const work = async ({ name }: ProviderAccount) => {
      used.push(name);
      if (name === "acme:one") unavailable("no", { details: { kind: "auth" } });
      return name;
    };
    assert.equal(await desk.use("acme", work, none), "acme:two");
    assert.equal(await desk.use("acme", work, none), "acme:two");
    assert.deepEqual(used, ["acme:one", "acme:two", "acme:two"]);
    assert.ok(desk.cooldowns.until("acme:one"));
  });

  it("is not tried again after a rejected request", async () => {
    const { desk } = setup(
      {
        baseUrl: "http://a/v1",
        accounts: [
          { name: "one", apiKey: "k" },
          { name: "two", apiKey: "k" },
        ],
        models: [],
      },
      undefined,
    );
    const used: string[] = [];
    const work = async ({ name }: ProviderAccount) => {
      used.push(name);
      return unavailable("no", { details: { kind: "request" } });
    };
    await assert.rejects(desk.use("acme", work, none), /no/);
    assert.deepEqual(used, ["acme:one"]);
  });

  it("must be configured, and a signal ends the request", async () => {
    const { desk } = setup({ baseUrl: "http://a/v1", apiKey: "k", models: [] }, undefined);
    const work = async () => "done";
    await assert.rejects(desk.use("nobody", work, none), { code: "NOT_FOUND", message: /add it to models\.providers/ });
    await assert.rejects(desk.use("acme", work, AbortSignal.abort(new Error("gone"))), /gone/);
  });
});
