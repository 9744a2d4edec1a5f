/** Servers that say nothing: the next account or model takes over. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { withDefaults } from "@svc/sdk";
import type { ModelEvent, ModelProvider } from "@svc/sdk/models";
import { ModelChain } from "../../../plugins/agents/runs/model-chain.ts";
import { ModelsConfig } from "../../../plugins/models/config.ts";
import { createModels } from "../../../plugins/models/models.ts";
import { createMessagesApi } from "../../../plugins/provider-anthropic/api.ts";
import { createProvider as createMessages } from "../../../plugins/provider-anthropic/provider.ts";
import { createClients } from "../../../plugins/provider-openai/clients.ts";
import { createProvider as createChat } from "../../../plugins/provider-openai/provider.ts";
import { createFakeClock, type FakeClock } from "../../../sdk/testing/fake-clock.ts";
import { type FakeModelReply, startFakeModelServer } from "../../../sdk/testing/fake-model-server.ts";
import { extensionView, hook } from "../emitters.ts";

const question = {
  system: "",
  messages: [{ role: "user", content: [{ type: "text", text: "hi" }], timestamp: 1 }],
  tools: [],
} as const;

async function serverOf(t: TestContext, ...replies: FakeModelReply[]) {
  const server = await startFakeModelServer({ replies });
  t.after(() => server.close());
  return server;
}

function deskOf(section: object, clock: FakeClock, more: Readonly<Record<string, ModelProvider>> = {}) {
  const providers = extensionView<ModelProvider>({
    "openai-completions": createChat(createClients({ clock })),
    "anthropic-messages": createMessages(createMessagesApi({ clock })),
    ...more,
  });
  return createModels({ config: withDefaults(ModelsConfig, section), providers, requestHook: hook(), clock });
}

/** Advances the clock in small steps until `work` is done, so that real responses arrive in between. */
async function whileTimePasses<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  const state = { isDone: false };
  const end = () => void (state.isDone = true);
  work.then(end, end);
  while (!state.isDone) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(1_000);
  }
  return work;
}

async function collect(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const all: ModelEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const never = new AbortController().signal;

for (const api of ["openai-completions", "anthropic-messages"]) {
  describe(`a silent server with the API ${api}`, { timeout: 60_000 }, () => {
    it("is left for the next account before its first piece, and its connection closes", async (t) => {
      const clock = createFakeClock();
      const silent = await serverOf(t, { text: "late", hangAfter: 0 });
      const second = await serverOf(t, { text: "second" });
      const accounts = [silent, second].map(({ url }, index) => ({ name: `n${index}`, apiKey: "k", baseUrl: url }));
      const desk = deskOf({ providers: { acme: { api, accounts, models: [{ id: "m" }] } } }, clock);
      const [first] = await whileTimePasses(clock, collect(desk.stream({ ...question, model: desk.resolve() }, never)));
      assert.deepEqual(first, { type: "text", delta: "second" });
      assert.equal(desk.cooldowns.failureOf("acme:n0")?.kind, "timeout");
      await silent.requests[0]?.closed;
      assert.equal(silent.requests[0]?.aborted, true);
    });

    it("ends an answer that has begun, with the reason", async (t) => {
      const clock = createFakeClock();
      const { url } = await serverOf(t, { pieces: ["a ", "b ", "c"], hangAfter: 1 });
      const desk = deskOf(
        { idleTimeoutSeconds: 9, providers: { acme: { api, baseUrl: url, apiKey: "k", models: [{ id: "m" }] } } },
        clock,
      );
      const events: ModelEvent[] = [];
      const reading = async () => {
        for await (const event of desk.stream({ ...question, model: desk.resolve() }, never)) events.push(event);
      };
      await assert.rejects(whileTimePasses(clock, reading()), {
        code: "UNAVAILABLE",
        message: /"acme" sent nothing for 9 s; .*models\.idleTimeoutSeconds/u,
        details: { kind: "timeout" },
      });
      assert.ok(events.length <= 1);
    });

    it("is replaced by the fallback model of an agent", async (t) => {
      const clock = createFakeClock();
      const silent = await serverOf(t, { hangAfter: 0 });
      const other = await serverOf(t, { text: "fallback" });
      const entry = (url: string) => ({ api, baseUrl: url, apiKey: "k", models: [{ id: "m" }] });
      const desk = deskOf({ providers: { acme: entry(silent.url), spare: entry(other.url) } }, clock);
      const phases: unknown[] = [];
      const chain = new ModelChain(
        [desk.resolve("acme/m"), desk.resolve("spare/m")],
        (model, messages) => desk.stream({ ...question, model, messages }, never),
        ({ phase, reasonSummary }) => phases.push(phase, reasonSummary),
      );
      const [first] = await whileTimePasses(clock, collect(chain.ask(question.messages, never)));
      assert.deepEqual(first, { type: "text", delta: "fallback" });
      assert.match(phases.join(), /^fallback,.*sent nothing for 240 s/u);
    });

    it("is not silent while it sends parts of a tool call", async (t) => {
      const { url } = await serverOf(t, { toolCalls: [{ name: "write", arguments: { text: "x".repeat(500) } }] });
      const desk = deskOf(
        { providers: { acme: { api, baseUrl: url, apiKey: "k", models: [{ id: "m" }] } } },
        createFakeClock(),
      );
      const events = await collect(desk.stream({ ...question, model: desk.resolve() }, never));
      assert.deepEqual(
        events.map(({ type }) => type),
        ["toolCall", "finish"],
        "signs of work are not passed on",
      );
    });
  });
}

describe("the idle timeout", { timeout: 60_000 }, () => {
  /** A provider that says `events` when told to. */
  function stepping() {
    let step: ((event: ModelEvent) => void) | undefined;
    const next = () => new Promise<ModelEvent>((resolve) => (step = resolve));
    const stream: ModelProvider["stream"] = async function* (_request, _account, signal) {
      for (;;) {
        const event = await Promise.race([
          next(),
          new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
        ]);
        yield event;
      }
    };
    return { provider: { stream }, say: (event: ModelEvent) => step?.(event) };
  }
  const section = (seconds?: number) => ({
    ...(seconds === undefined ? {} : { idleTimeoutSeconds: seconds }),
    providers: { acme: { api: "stepping", models: [{ id: "m" }] } },
  });

  it("starts again with each piece, and with a sign of work, which is not passed on", async () => {
    const clock = createFakeClock();
    const { provider, say } = stepping();
    const desk = deskOf(section(10), clock, { stepping: provider });
    const reading = collect(desk.stream({ ...question, model: desk.resolve() }, never));
    for (const event of [
      { type: "text", delta: "a" },
      { type: "text", delta: "" },
      { type: "text", delta: "" },
      { type: "finish", reason: "stop" },
    ] as const) {
      await clock.advance(9_000);
      say(event);
      await clock.advance(0);
    }
    assert.deepEqual(await reading, [
      { type: "text", delta: "a" },
      { type: "finish", reason: "stop" },
    ]);
    assert.equal(clock.pending, 0);
  });

  it("is off with 0", async () => {
    const clock = createFakeClock();
    const { provider, say } = stepping();
    const desk = deskOf(section(0), clock, { stepping: provider });
    const reading = collect(desk.stream({ ...question, model: desk.resolve() }, never));
    await clock.advance(3_600_000);
    say({ type: "finish", reason: "stop" });
    assert.equal((await reading).length, 1);
  });

  it("does not run while the reader is busy", async () => {
    const clock = createFakeClock();
    const { provider, say } = stepping();
    const desk = deskOf(section(10), clock, { stepping: provider });
    const events = desk.stream({ ...question, model: desk.resolve() }, never)[Symbol.asyncIterator]();
    const first = events.next();
    await clock.advance(0);
    say({ type: "text", delta: "a" });
    await first;
    assert.equal(clock.pending, 0);
    await events.return?.();
  });
});
