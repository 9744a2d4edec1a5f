import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ExtensionView, type HookEmitter, type HOOKS, unavailable, withDefaults } from "@svc/sdk";
import type { ModelEvent, ModelProvider, ModelRequest, Models, ProviderAccount } from "@svc/sdk/models";
import { ModelsConfig } from "../../../plugins/models/config.ts";
import { createModels } from "../../../plugins/models/models.ts";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";
import { extensionView, hook } from "../emitters.ts";

const providers = {
  acme: { baseUrl: "https://host.example/v1", apiKey: "k", headers: { a: "b" }, models: [{ id: "m" }] },
};
const text = { type: "text", delta: "hi" } as const;
const finish = { type: "finish", reason: "stop" } as const;

/** A view of an extension point that records to which contribution errors are attributed, including rejections. */
function viewOf(value: ModelProvider, charged: unknown[]): ExtensionView<ModelProvider> {
  return {
    ...extensionView({ "openai-completions": value }),
    call(contribution, work) {
      const result = work(contribution.value);
      if (result instanceof Promise) result.catch((error: unknown) => charged.push([contribution.id, error]));
      return result;
    },
  };
}

type RequestHook = HookEmitter<typeof HOOKS.modelRequest>;

interface Setup {
  readonly models: Models;
  /** Requests to the provider, in order. */
  readonly asked: { request: ModelRequest; account: ProviderAccount }[];
  readonly charged: unknown[];
}

/** The service with one provider that yields `events`; each case changes one field. */
function setup(events: (signal: AbortSignal) => AsyncIterable<ModelEvent>, requestHook: RequestHook = hook()): Setup {
  const asked: Setup["asked"] = [];
  const charged: unknown[] = [];
  const value: ModelProvider = {
    stream(request, account, signal) {
      asked.push({ request, account });
      return events(signal);
    },
  };
  const view = viewOf(value, charged);
  const config = withDefaults(ModelsConfig, { providers });
  const models = createModels({ config, providers: view, requestHook, clock: createFakeClock() });
  return { models, asked, charged };
}

const question = (models: Models): ModelRequest => ({
  model: models.resolve("acme/m"),
  system: "",
  messages: [],
  tools: [],
});

async function read(
  models: Models,
  signal = new AbortController().signal,
  request = question(models),
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of models.stream(request, signal)) events.push(event);
  return events;
}

async function* yields(...events: ModelEvent[]): AsyncGenerator<ModelEvent> {
  yield* events;
}

it("resolves a reference, else the first model of the agent", () => {
  const config = withDefaults(ModelsConfig, {
    providers: { acme: { ...providers.acme, models: [{ id: "m" }, { id: "n" }] } },
  });
  const policy = () => ({
    allowed: () => undefined,
    primary: (agentId = "main") => (agentId === "ops" ? "n" : undefined),
  });
  const view = viewOf({ stream: () => yields() }, []);
  const models = createModels({ config, providers: view, requestHook: hook(), clock: createFakeClock(), policy });
  const ids = [models.resolve(), models.resolve(undefined, "ops"), models.resolve("m", "ops")].map(({ id }) => id);
  assert.deepEqual(ids, ["m", "n", "m"]);
});

describe("a request to a model", () => {
  it("passes the account to the provider, and its events on", async () => {
    const { models, asked } = setup(() => yields(text, finish));
    assert.deepEqual(await read(models), [text, finish]);
    const { baseUrl, apiKey, headers } = providers.acme;
    assert.deepEqual(asked[0]?.account, { name: "acme", baseUrl, apiKey, headers });
  });

  /** A stream of `events`, and whether its provider could clean up. */
  function cleaning(...events: (ModelEvent | Promise<never>)[]) {
    const state = { cleaned: false };
    async function* stream(): AsyncGenerator<ModelEvent> {
      try {
        for (const event of events) yield await event;
      } finally {
        state.cleaned = true;
      }
    }
    return { state, ...setup(stream) };
  }
  const silence = new Promise<never>(() => {});

  it("ends at the first finish and lets the provider clean up", async () => {
    const { models, state } = cleaning(text, finish, text, finish);
    assert.deepEqual(await read(models), [text, finish]);
    assert.equal(state.cleaned, true);
  });

  it("refuses an answer without finish", async () => {
    const { models } = setup(() => yields(text));
    await assert.rejects(read(models), { code: "UNAVAILABLE", message: /"acme" ended the stream/u });
  });

  it("cuts an answer above the limit of the request, without blaming the plugin", async () => {
    const { models, charged } = setup(async function* () {
      for (;;) yield { type: "thinking", delta: "x".repeat(100), signature: "s" };
    });
    const events: ModelEvent[] = [];
    const request = { ...question(models), maxAnswerChars: 1_000 };
    await assert.rejects(
      async () => {
        for await (const event of models.stream(request, new AbortController().signal)) events.push(event);
      },
      { code: "UNAVAILABLE", message: /was cut: it has more than 1000 characters/u, details: { kind: "request" } },
    );
    assert.equal(events.length, 5);
    assert.deepEqual(charged, []);
  });

  it("sends the request as changed by the request hook", async () => {
    const hook: RequestHook = { isUsed: () => true, emit: async (request) => ({ ...request, system: "changed" }) };
    const { models, asked } = setup(() => yields(finish), hook);
    await read(models);
    assert.equal(asked[0]?.request.system, "changed");
  });

  it("refuses a model whose provider kind was removed", async () => {
    const { models } = setup(() => yields(finish));
    const request = question(models);
    const gone = { ...request, model: { ...request.model, api: "telepathy" } };
    await assert.rejects(read(models, undefined, gone), { code: "UNAVAILABLE", message: /telepathy/u });
  });

  it("attributes a provider's bug to its plugin", async () => {
    const bug = new TypeError("bug");
    const { models, charged } = setup(async function* () {
      yield text;
      throw bug;
    });
    await assert.rejects(read(models), bug);
    assert.deepEqual(charged, [["openai-completions", bug]]);
  });

  it("attributes an error before the first piece to the provider", async () => {
    const { models, charged } = setup(() => assert.fail("bug"));
    await assert.rejects(read(models), { message: "bug" });
    assert.equal(charged.length, 1);
  });

  it("attributes a refusal to nobody", async () => {
    // oxlint-disable-next-line require-yield -- a provider that refuses at once
    const { models, charged } = setup(async function* () {
      unavailable("the server is down");
    });
    await assert.rejects(read(models), { code: "UNAVAILABLE", message: "the server is down" });
    assert.deepEqual(charged, []);
  });

  it("sends no request if already aborted", async () => {
    const { models, asked } = setup(() => yields(finish));
    await assert.rejects(read(models, AbortSignal.abort(new Error("too late"))), { message: "too late" });
    assert.equal(asked.length, 0);
  });

  it("stops after an abort between two pieces, and lets the provider clean up", async () => {
    const abort = new AbortController();
    const { models, state } = cleaning(text, silence);
    const events = models.stream(question(models), abort.signal)[Symbol.asyncIterator]();
    assert.deepEqual(await events.next(), { done: false, value: text });
    abort.abort(new Error("stop it"));
    await assert.rejects(events.next(), { message: "stop it" });
    assert.equal(state.cleaned, true);
  });

  it("stops on abort even if the provider ignores the signal", async () => {
    const abort = new AbortController();
    const { models, charged } = cleaning(text, silence);
    const events = models.stream(question(models), abort.signal)[Symbol.asyncIterator]();
    assert.deepEqual(await events.next(), { done: false, value: text });
    const pending = events.next();
    abort.abort(new Error("stop it"));
    await assert.rejects(pending, { message: "stop it" });
    assert.deepEqual(charged, []);
  });

  it("treats a provider that ends silently on abort as aborted", async () => {
    const abort = new AbortController();
    const { models } = setup(async function* (signal) {
      yield text;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    const events = models.stream(question(models), abort.signal)[Symbol.asyncIterator]();
    await events.next();
    const pending = events.next();
    abort.abort(new Error("stop it"));
    await assert.rejects(pending, { message: "stop it" });
  });

  it("lets the provider clean up when the reader stops reading", async () => {
    const { models, state } = cleaning(text, text, finish);
    for await (const event of models.stream(question(models), new AbortController().signal)) {
      assert.deepEqual(event, text);
      break;
    }
    assert.equal(state.cleaned, true);
  });
});
