/** The service with its real providers, against model servers over HTTP. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { GatewayError, matches, withDefaults } from "@svc/sdk";
import { type ModelEvent, type ModelPolicy, type ModelProvider, models as contract } from "@svc/sdk/models";
import { ModelsConfig } from "../../../plugins/models/config.ts";
import { createHandlers } from "../../../plugins/models/methods.ts";
import { createModels } from "../../../plugins/models/models.ts";
import { createMessagesApi } from "../../../plugins/provider-anthropic/api.ts";
import { createProvider as createMessages } from "../../../plugins/provider-anthropic/provider.ts";
import { createClients } from "../../../plugins/provider-openai/clients.ts";
import { createProvider as createChat } from "../../../plugins/provider-openai/provider.ts";
import { createFakeClock } from "../../../sdk/testing/fake-clock.ts";
import { type FakeModelReply, startFakeModelServer } from "../../../sdk/testing/fake-model-server.ts";
import { silentLog } from "../agents/silent-log.ts";
import { extensionView, hook } from "../emitters.ts";

const KINDS = ["openai-completions", "anthropic-messages"] as const;

async function serverOf(t: TestContext, ...replies: FakeModelReply[]) {
  const server = await startFakeModelServer({ replies });
  t.after(() => server.close());
  return server;
}

function setup(section: object, policy?: ModelPolicy) {
  const clock = createFakeClock();
  const providers = extensionView<ModelProvider>({
    "openai-completions": createChat(createClients({ clock })),
    "anthropic-messages": createMessages(createMessagesApi({ clock })),
  });
  const config = withDefaults(ModelsConfig, section);
  const desk = createModels({ config, providers, requestHook: hook(), clock, policy: () => policy });
  const handlers = createHandlers({ desk, providers, clock, log: silentLog, env: {} });
  const call = {
    principal: {} as never,
    connection: undefined,
    accept: () => {},
    signal: new AbortController().signal,
  };

  async function read(ref?: string): Promise<ModelEvent[]> {
    const events: ModelEvent[] = [];
    const content = [{ type: "text", text: "hi" }] as const;
    const messages = [{ role: "user", content, timestamp: 1 }] as const;
    const request = { model: desk.resolve(ref), system: "", messages, tools: [] };
    for await (const event of desk.stream(request, call.signal)) events.push(event);
    return events;
  }
  return { desk, clock, read, handlers, call };
}

for (const api of KINDS) {
  describe(`accounts of a provider with the API ${api}`, { timeout: 120_000 }, () => {
    /** Two accounts, each with its own server. */
    async function two(t: TestContext, first: FakeModelReply[], second: FakeModelReply[]) {
      const servers = [await serverOf(t, ...first), await serverOf(t, ...second)] as const;
      const accounts = servers.map(({ url }, index) => ({ name: `n${index}`, apiKey: `key-${index}`, baseUrl: url }));
      const price = { input: 1, output: 2 };
      return {
        ...setup({ providers: { acme: { api, accounts, models: [{ id: "m", cost: price }] } } }),
        asked: () => servers.map(({ requests }) => requests.length),
        servers,
      };
    }

    const failures: [why: string, reply: FakeModelReply, kind: string, seconds: number][] = [
      ["a rate limit", { status: 429, retryAfter: 7 }, "rate_limit", 7],
      ["a refused key", { status: 401 }, "auth", 300],
      ["an unpaid bill", { status: 402 }, "billing", 300],
      ["an overload", { status: 529 }, "server_error", 30],
      ["a connection cut before a word", { breakAfter: 0 }, "network", 30],
    ];
    for (const [why, reply, kind, seconds] of failures) {
      it(`cool down after ${why}, and the next one answers`, async (t) => {
        const { read, desk, clock, asked } = await two(t, [reply], [{ text: "second" }]);
        const [text] = await read();
        assert.deepEqual(text, { type: "text", delta: "second" });
        assert.deepEqual(asked(), [1, 1]);
        assert.equal(desk.cooldowns.failureOf("acme:n0")?.kind, kind);
        assert.equal(desk.cooldowns.until("acme:n0"), clock.now() + seconds * 1000);
        assert.equal(desk.coolingUntil(desk.resolve()), undefined);
        await read();
        assert.deepEqual(asked(), [1, 2]);
      });
    }

    it("report the end of the cooldown, and are tried anyway", async (t) => {
      const { read, desk, clock, asked } = await two(t, [{ status: 401 }], [{ status: 429, retryAfter: 9 }]);
      await assert.rejects(read(), { code: "UNAVAILABLE" });
      assert.equal(desk.coolingUntil(desk.resolve()), clock.now() + 9_000);
      assert.equal((await read()).at(-1)?.type, "finish");
      assert.deepEqual(asked(), [1, 2]);
    });

    it("send their own keys, and report cost with usage", async (t) => {
      const { read, servers } = await two(t, [{ status: 500 }], [{ text: "a b" }]);
      const last = (await read()).at(-1);
      assert.ok(last?.type === "finish" && last.usage?.cost);
      const { input, output, cost } = last.usage;
      assert.deepEqual([cost.input, cost.output], [input / 1e6, (output * 2) / 1e6]);
      assert.deepEqual(
        servers.map(({ requests }) => requests[0]?.headers.authorization),
        ["Bearer key-0", "Bearer key-1"],
      );
    });

    it("are tried by models.test, which reports account and cost", async (t) => {
      const { handlers, call, clock } = await two(t, [{ status: 529 }], [{ text: "ok" }]);
      const result = await handlers.test({ ...call, params: {} });
      assert.ok(matches(contract.test.result, result));
      assert.deepEqual([result.model, result.account, result.text], ["acme/m", "acme:n1", "ok"]);
      assert.ok(result.cost !== undefined && result.cost > 0);

      const status = await handlers.status({ ...call, params: { model: "m" } });
      assert.ok(matches(contract.status.result, status));
      assert.deepEqual([status.default, status.resolved, status.restricted], ["acme/m", "acme/m", false]);
      assert.deepEqual(status.providers, [
        {
          name: "acme",
          api,
          usable: true,
          models: 1,
          accounts: [
            {
              name: "acme:n0",
              hasKey: true,
              coolingUntil: clock.now() + 30_000,
              lastFailure: { kind: "server_error", status: 529, at: clock.now(), count: 1 },
            },
            { name: "acme:n1", hasKey: true },
          ],
        },
      ]);
      assert.doesNotMatch(JSON.stringify([result, status]), /key-\d/u);
    });
  });
}

describe("a configuration that changes", { timeout: 120_000 }, () => {
  it("applies from the next request on; active requests are not affected", async (t) => {
    const before = await serverOf(t, { pieces: ["a", "b"], delayMs: 50 });
    const after = await serverOf(t, { text: "new" });
    const section = (baseUrl: string) => ({ providers: { acme: { baseUrl, models: [{ id: "m" }] } } });
    const { desk, read } = setup(section(before.url));
    const request = { model: desk.resolve(), system: "", messages: [], tools: [] };
    const events = desk.stream(request, new AbortController().signal)[Symbol.asyncIterator]();
    const first = (await events.next()).value as ModelEvent;
    desk.reconfigure(withDefaults(ModelsConfig, section(after.url)));
    const said = [first];
    for await (const event of { [Symbol.asyncIterator]: () => events }) said.push(event);
    assert.equal(said.map((event) => (event.type === "text" ? event.delta : "")).join(""), "ab");
    assert.deepEqual((await read())[0], { type: "text", delta: "new" });
    assert.deepEqual([before.requests.length, after.requests.length], [1, 1]);
  });

  it("ends the cooldown of an account with a new key, and no other", () => {
    const section = (key: string) => ({
      providers: {
        a: { apiKey: key, models: [{ id: "m" }] },
        b: { apiKey: "same", models: [{ id: "n" }] },
      },
    });
    const { desk } = setup(section("old"));
    desk.cooldowns.failed("a", { kind: "auth" });
    desk.cooldowns.failed("b", { kind: "auth" });
    desk.reconfigure(withDefaults(ModelsConfig, section("new")));
    assert.equal(desk.coolingUntil(desk.resolve("m")), undefined);
    assert.notEqual(desk.coolingUntil(desk.resolve("n")), undefined);
  });
});

describe("headers of one model", { timeout: 120_000 }, () => {
  it("are sent with its requests only", async (t) => {
    const { url, requests } = await serverOf(t);
    const models = [{ id: "m", headers: { "x-beta": "1" } }, { id: "n" }];
    const { read } = setup({ providers: { acme: { baseUrl: url, headers: { "x-team": "blue" }, models } } });
    await read("m");
    await read("n");
    assert.deepEqual(
      requests.map(({ headers }) => [headers["x-team"], headers["x-beta"]]),
      [
        ["blue", "1"],
        ["blue", undefined],
      ],
    );
  });
});

describe("the current policy", () => {
  const section = { providers: { acme: { models: [{ id: "m" }, { id: "n" }] } } };

  it("applies to the list, to references and to the status", async () => {
    let allowed: ReturnType<ModelPolicy["allowed"]>;
    const { desk, handlers, call } = setup(section, { allowed: () => allowed });
    assert.equal(desk.list().length, 2);
    allowed = new Map();
    assert.equal(desk.list().length, 2, "an empty policy restricts nothing");
    allowed = new Map([["acme/n", { alias: "Fast" }]]);
    assert.deepEqual(
      (await handlers.list({ ...call, params: {} })).models.map(({ id }) => id),
      ["n"],
    );
    assert.equal(desk.resolve("FAST").id, "n");
    assert.throws(() => desk.resolve("acme/m"), { code: "INVALID_REQUEST", message: /agents\.defaults\.models/u });
    const { restricted, aliases } = await handlers.status({ ...call, params: {} });
    assert.deepEqual([restricted, aliases], [true, [{ alias: "Fast", model: "acme/n" }]]);
  });

  it("makes models.list unavailable when it cannot be read", async () => {
    const { handlers, call } = setup(section, { allowed: () => assert.fail("bug") });
    await assert.rejects(
      async () => handlers.list({ ...call, params: {} }),
      (error: unknown) => {
        assert.ok(error instanceof GatewayError);
        assert.equal(error.code, "UNAVAILABLE");
        assert.doesNotMatch(error.message, /bug/u);
        return true;
      },
    );
  });
});
