/** The parts of the guided setup about models, with servers over HTTP. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import type { Contribution, ExtensionView, Principal } from "@svc/sdk";
import { GatewayError } from "@svc/sdk";
import type { ModelChoice, ModelProvider } from "@svc/sdk/models";
import { createFakeClock, startFakeModelServer } from "@svc/sdk/testing";
import type { SetupAnswer, SetupStep } from "@svc/sdk/wizard";
import { createModelPart, createProviderPart } from "../../../plugins/models/setup-part.ts";

type Step = Extract<SetupStep, { ask: unknown }>;

const stub = { stream: () => assert.fail("not called") } as unknown as ModelProvider;

function view(providers: Readonly<Record<string, Partial<ModelProvider>>>): ExtensionView<ModelProvider> {
  const all = Object.entries(providers).map(([id, value]) => ({ id, plugin: id, value: value as ModelProvider }));
  return {
    list: () => all,
    get: (id) => all.find((one) => one.id === id),
    call: (one: Contribution<ModelProvider>, work) => work(one.value),
  };
}

const call = (config: Readonly<Record<string, unknown>> = {}) => ({
  principal: {} as Principal,
  config,
  signal: new AbortController().signal,
});

const clock = createFakeClock();

interface Given {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly providers?: Readonly<Record<string, Partial<ModelProvider>>>;
  readonly env?: NodeJS.ProcessEnv;
  readonly local?: readonly string[];
}

/** Answers one after the other. @returns all steps */
async function walk(
  answers: readonly SetupAnswer[],
  { config, providers = { "openai-completions": stub, "anthropic-messages": stub }, env = {}, local = [] }: Given = {},
) {
  const part = createProviderPart({ providers: view(providers), clock, env, local });
  const steps: SetupStep[] = [await part.start(call(config))];
  for (const answer of answers) {
    const { state } = steps.at(-1) as Step;
    steps.push(await part.next({ ...call(config), state: JSON.parse(JSON.stringify(state)) as unknown, answer }));
  }
  return steps;
}

const optionsOf = (step: SetupStep | undefined) => {
  const { ask } = step as Step;
  return ask.kind === "select" ? ask.options.map(({ value }) => value) : assert.fail(ask.kind);
};
/** The configuration that a part has set up; any keys. */
const configOf = (step: SetupStep | undefined) =>
  JSON.parse(
    JSON.stringify((step as { readonly config?: unknown } | undefined)?.config ?? assert.fail("no configuration")),
  );
const hasConfig = (step: SetupStep | undefined) => (step as { readonly config?: unknown }).config !== undefined;
const messageOf = (step: SetupStep | undefined) => ("ask" in (step ?? {}) ? (step as Step).ask.message : "no question");

/** A site that knows one key, and lists its models to anybody. */
async function openRouter(t: TestContext): Promise<[asked: string[], address: string]> {
  const asked: string[] = [];
  const site = createServer(({ url = "", headers }, response) => {
    asked.push(url);
    const isRight = url === "/models" || headers.authorization === "Bearer right-key";
    response.writeHead(isRight ? 200 : 401).end(JSON.stringify({ data: [{ id: "a/b" }] }));
  }).listen(0, "127.0.0.1");
  await once(site, "listening");
  t.after(() => site.close());
  return [asked, `http://127.0.0.1:${(site.address() as AddressInfo).port}`];
}

describe("the part about the model server", { timeout: 60_000 }, () => {
  it("offers the known servers whose plugin is loaded, and a server that responds on this machine", async (t) => {
    const server = await startFakeModelServer({ models: ["small"] });
    t.after(() => server.close());
    const local = [server.url, "http://127.0.0.1:1/v1"];
    const [first] = await walk([], { local });
    assert.deepEqual(optionsOf(first), ["offline", server.url, "anthropic", "openai", "openrouter", "other"]);
    assert.deepEqual((first as Step).ask, { ...(first as Step).ask, initial: "offline" });
    const [bare] = await walk([], { providers: { "anthropic-messages": stub } });
    assert.deepEqual(optionsOf(bare), ["offline", "anthropic", "other"]);
  });

  it("adds a server without a key, and makes its first model the default", async (t) => {
    const server = await startFakeModelServer({ models: ["small", "large"] });
    t.after(() => server.close());
    const [, end] = await walk([server.url], { local: [server.url] });
    assert.deepEqual(configOf(end), {
      models: { providers: { local: { baseUrl: server.url, models: [{ id: "small" }, { id: "large" }] } } },
      agents: { defaults: { model: "local/small" } },
    });
  });

  it("finds the address with /v1, asks for a key that the server wants, and repeats the question for a wrong one", async (t) => {
    const server = await startFakeModelServer({ models: ["small"], apiKey: "right-key" });
    t.after(() => server.close());
    const address = server.url.replace(/\/v1$/, "");
    const steps = await walk(["other", address, "wrong-key", "${ACME_KEY}"], { env: { ACME_KEY: "right-key" } });
    const [, url, wanted, again, end] = steps;
    assert.match(messageOf(url), /Address of the server/);
    assert.match(messageOf(wanted), /requires a key[\s\S]*API key of/);
    assert.equal((wanted as Step & { ask: { sensitive?: boolean } }).ask.sensitive, true);
    assert.match(messageOf(again), /rejects the key/);
    assert.doesNotMatch(JSON.stringify(steps.slice(0, -1)), /wrong-key|right-key/);
    const { models } = configOf(end);
    assert.deepEqual([models.providers.local.apiKey, models.providers.local.baseUrl], ["${ACME_KEY}", server.url]);
  });

  it("says what is wrong with an address, and asks for it again", async () => {
    const told: readonly (readonly [address: string, RegExp])[] = [
      ["nonsense", /is not a server address/],
      ["http://user:secret@host/v1", /is not a server address/],
      ["http://127.0.0.1:1/v1", /does not respond/],
    ];
    for (const [address, why] of told) {
      const [, , again] = await walk(["other", address]);
      assert.match(messageOf(again), why);
      assert.match(messageOf(again), /Address of the server/);
    }
    const [, , back] = await walk(["other", ""]);
    assert.ok(optionsOf(back).includes("other"));
    const [, , unset] = await walk(["openai", "${NOT_SET}"]);
    assert.match(messageOf(unset), /NOT_SET is not set in the environment of the gateway/);
    const [, , list] = await walk(["openai", ""]);
    assert.ok(optionsOf(list).includes("openai"));
  });

  it("asks for one model of a long list", async (t) => {
    const ids = Array.from({ length: 60 }, (_, index) => `model-${index}`);
    const server = await startFakeModelServer({ models: ids });
    t.after(() => server.close());
    const [, , which, again, end] = await walk(["other", server.url, "model-99", "model-7"]);
    assert.match(messageOf(which), /has 60 models/);
    assert.match(messageOf(again), /no model "model-99"/);
    const { models, agents } = configOf(end);
    assert.deepEqual(models.providers.local.models, [{ id: "model-7" }]);
    assert.equal(agents.defaults.model, "local/model-7");
  });

  it("asks the plugin of a known server for its models, which checks the key", async () => {
    const listed = {
      listModels: async ({ apiKey }: { apiKey?: string }): Promise<ModelChoice[]> =>
        apiKey === "right-key"
          ? [{ id: "claude-sonnet-9", name: "Sonnet", provider: "x" }]
          : Promise.reject(new GatewayError("UNAVAILABLE", `key ${apiKey} rejected`, { details: { kind: "auth" } })),
    };
    const [, , again, end] = await walk(["anthropic", "${K}", "right-key"], {
      providers: { "anthropic-messages": listed },
      env: { K: "secret-key" },
    });
    assert.match(messageOf(again), /key \(hidden\) rejected/);
    const provider = { api: "anthropic-messages", apiKey: "right-key", models: [{ id: "claude-sonnet-9" }] };
    assert.deepEqual(configOf(end), {
      models: { providers: { anthropic: provider } },
      agents: { defaults: { model: "anthropic/claude-sonnet-9" } },
    });
    const [, , no] = await walk(["anthropic", "any-key"], { providers: { "anthropic-messages": {} } });
    assert.match(messageOf(no), /^no enabled plugin can list the models of servers with the API anthropic-messages/);
  });

  it("repeats the question if a known server does not list its models in time", async () => {
    const silent: Partial<ModelProvider> = {
      listModels: (_account, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
          void clock.advance(15_000);
        }),
    };
    const [, , again] = await walk(["anthropic", "any-key"], { providers: { "anthropic-messages": silent } });
    assert.match(messageOf(again), /^Anthropic did not list its models within 15 s/);
  });

  it("checks the key of OpenRouter, whose list needs none", async (t) => {
    const [asked, site] = await openRouter(t);
    const part = createProviderPart({ providers: view({}), clock, env: {}, local: [] });
    const server = { id: "openrouter", label: "OpenRouter", api: "openai-completions", baseUrl: site, suggests: "" };
    const next = async (answer: string) => part.next({ ...call(), state: { at: "key", server }, answer });
    assert.match(messageOf(await next("wrong-key")), /^OpenRouter rejects the key \(401\)/);
    assert.deepEqual(configOf(await next("right-key")).models.providers.openrouter.models, [{ id: "a/b" }]);
    assert.deepEqual(asked, ["/key", "/key", "/models"]);
  });

  it("keeps what is configured by default; without a server it only changes the default model", async () => {
    const config = {
      models: { providers: { acme: { baseUrl: "http://x/v1" } } },
      agents: { defaults: { model: { primary: "acme/a", fallbacks: ["acme/b"] } } },
    };
    const [first, kept] = await walk(["keep"], { config });
    assert.equal((first as Step & { ask: { initial: unknown } }).ask.initial, "keep");
    assert.ok(!hasConfig(kept));
    const [, offline] = await walk(["offline"], { config });
    assert.deepEqual(configOf(offline), {
      agents: { defaults: { model: { primary: "offline/offline" } } },
    });
    const [, bare] = await walk(["offline"]);
    assert.ok(!hasConfig(bare));
  });

  it("replaces the accounts of a server by the key", async (t) => {
    const server = await startFakeModelServer({ models: ["m"], apiKey: "right-key" });
    t.after(() => server.close());
    const config = { models: { providers: { local: { accounts: [{ name: "a", apiKey: "x" }] } } } };
    const steps = await walk(["other", server.url, "right-key"], { config });
    const { models } = configOf(steps.at(-1));
    assert.deepEqual([models.providers.local.accounts, models.providers.local.apiKey], [null, "right-key"]);
  });
});

describe("the part about the default model", () => {
  const partOf = (...refs: string[]) => {
    const list = () =>
      refs.map((ref) => {
        const [provider = "", id = ""] = ref.split("/");
        return { provider, id, name: id };
      });
    return createModelPart({ desk: { list } });
  };
  const chosen = (model: unknown) => call({ agents: { defaults: { model } } });

  it("asks nothing without a choice", async () => {
    assert.deepEqual(await partOf("offline/offline").start(call()), { done: true });
    const only = await partOf("a/x", "offline/offline").start(chosen("a/x"));
    assert.deepEqual(only, { done: true, message: "Default model: a/x." });
  });

  it("offers the current model first and keeps the fallbacks", async () => {
    const part = partOf("a/x", "a/y", "offline/offline");
    const current = chosen({ primary: "a/y", fallbacks: ["a/x"] });
    const step = await part.start(current);
    assert.equal((step as Step & { ask: { initial: unknown } }).ask.initial, "a/y");
    assert.deepEqual(await part.next({ ...current, state: undefined, answer: "a/x" }), {
      done: true,
      message: "Default model: a/x.",
      config: { agents: { defaults: { model: { primary: "a/x" } } } },
    });
    const same = await part.next({ ...current, state: undefined, answer: "a/y" });
    assert.ok(!hasConfig(same));
  });

  it("accepts the name of one of many models, and repeats the question for an unknown one", async () => {
    const part = partOf(...Array.from({ length: 60 }, (_, index) => `a/m${index}`));
    assert.equal(((await part.start(call())) as Step).ask.kind, "text");
    const again = await part.next({ ...call(), state: undefined, answer: "a/none" });
    assert.match(messageOf(again), /no model "a\/none"/);
  });
});
