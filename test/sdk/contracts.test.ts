/** The contract suites find what they are there to find: each case is right but for one thing. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { type Contract, defineContract, definePlugin, GatewayError, type Plugin, Strict, Type } from "@svc/sdk";
import { Channel } from "@svc/sdk/channels";
import type { ModelEvent, ModelProvider } from "@svc/sdk/models";
import {
  channelContract,
  type ContractContext,
  contributionOf,
  namespaceContract,
  providerContract,
  toolContract,
  transformContract,
} from "@svc/sdk/testing";
import { defineTool, type Tool } from "@svc/sdk/tools";
import { defineTransform } from "@svc/sdk/transform";
import channelPlugin from "../../plugins/dev/new/templates/channel/plugin.ts";
import { type LineServer, startLineServer } from "../../plugins/dev/new/templates/channel/test/line-server.ts";

/** Runs a suite as `node:test` does. @returns `name: message` of each check that failed */
async function failuresOf(suite: (t: ContractContext) => Promise<void>): Promise<string[]> {
  const failures: string[] = [];
  const contextOf = (): { t: ContractContext; over(): Promise<void> } => {
    const cleanUps: (() => Promise<void>)[] = [];
    const t: ContractContext = {
      after: (cleanUp) => void cleanUps.push(cleanUp),
      async test(inner, check) {
        const { t: context, over } = contextOf();
        await check(context).catch((error: Error) => void failures.push(`${inner}: ${error.message}`));
        await over();
      },
    };
    const over = async () => {
      for (const cleanUp of cleanUps) await cleanUp();
    };
    return { t, over };
  };
  const { t, over } = contextOf();
  await suite(t).catch((error: Error) => void failures.push(`suite: ${error.message}`));
  await over();
  return failures;
}

const exactly = (failures: readonly string[], ...wanted: RegExp[]) => {
  assert.equal(failures.length, wanted.length, failures.join("\n"));
  for (const [index, pattern] of wanted.entries()) assert.match(failures[index] ?? "", pattern);
};

describe("the contract of a namespace", { timeout: 120_000 }, () => {
  const spec = {
    summary: "Adds",
    scope: "operator.write" as const,
    params: Strict({ text: Type.String({ minLength: 1 }) }),
    result: Strict({ id: Type.String() }),
  };
  const contractOf = (change: object = {}): Contract => defineContract("notes", { add: { ...spec, ...change } });
  const pluginOf = (contract: Contract, change: Partial<Plugin> = {}, answer: unknown = { id: "1" }) =>
    definePlugin({
      id: "notes",
      api: "^1.0.0",
      setup: (gateway) => gateway.serve(contract, { add: () => answer } as never),
      ...change,
    });
  const samples = { add: [{ text: "milk" }] };

  it("is kept by one that is right", async () => {
    const contract = contractOf();
    exactly(await failuresOf((t) => namespaceContract(t, { plugin: pluginOf(contract), contract, samples })));
  });

  it("finds params that take anything, a result that does not fit, and a sample that does not", async () => {
    const open = contractOf({ params: Type.Object({ text: Type.String({ minLength: 1 }) }) });
    exactly(
      await failuresOf((t) => namespaceContract(t, { plugin: pluginOf(open), contract: open, samples })),
      /takes keys nobody knows: write its params with Strict/,
    );
    const contract = contractOf();
    const wrong = { plugin: pluginOf(contract, {}, { id: 1 }), contract, gateway: { logLevel: "silent" } };
    exactly(await failuresOf((t) => namespaceContract(t, { ...wrong, samples })), /notes\.add with .* internal error/);
    const bad = { plugin: pluginOf(contract), contract, samples: { add: [{ text: "" }] } };
    exactly(
      await failuresOf((t) => namespaceContract(t, bad as never)),
      /the sample \{"text":""\} of notes\.add does not fit/,
    );
  });

  it("finds a method that is not served, or lets in everybody", async () => {
    const contract = contractOf();
    const more: Contract = { ...contract, ...defineContract("notes", { list: { ...spec, summary: "Lists" } }) };
    const found = await failuresOf((t) =>
      namespaceContract(t, { plugin: pluginOf(contract), contract: more, samples }),
    );
    assert.ok(
      found.some((line) => /notes\.list is not served; add it to gateway\.serve/.test(line)),
      found.join("\n"),
    );
    const free = pluginOf(contractOf({ scope: "none" }));
    exactly(
      await failuresOf((t) => namespaceContract(t, { plugin: free, contract, samples })),
      /notes\.add lets in who holds operator\.write, and nobody else: .*notes\.add with \[\]/,
    );
  });

  it("finds what setup opens, what reloads leave, and what stays open in the end", async () => {
    const contract = contractOf();
    const timers: NodeJS.Timeout[] = [];
    const inSetup = pluginOf(contract, {
      setup(gateway) {
        timers.push(setInterval(() => {}, 1e6));
        gateway.serve(contract, { add: () => ({ id: "1" }) } as never);
      },
    });
    const found = await failuresOf((t) => namespaceContract(t, { plugin: inSetup, contract, samples }));
    for (const timer of timers) clearInterval(timer);
    exactly(
      found,
      /opens nothing in setup: setup only declares/,
      /leaves nothing open when the gateway stops: left open: 6 Timeout/,
    );

    const servers: ReturnType<typeof createServer>[] = [];
    const neverClosed = pluginOf(contract, {
      setup(gateway) {
        gateway.serve(contract, { add: () => ({ id: "1" }) } as never);
        gateway.start(() => void servers.push(createServer().listen(0)));
      },
    });
    const leaks = await failuresOf((t) => namespaceContract(t, { plugin: neverClosed, contract, samples }));
    for (const server of servers) server.close();
    exactly(leaks, /left open: 6 TCPServerWrap/);
  });

  it("says why a plugin does not run", async () => {
    const contract = contractOf();
    const broken = pluginOf(contract, { setup: () => Promise.reject(new Error("no way")) });
    const found = await failuresOf((t) =>
      namespaceContract(t, { plugin: broken, contract, samples, gateway: { logLevel: "silent" } }),
    );
    assert.match(found[0] ?? "", /^runs, with all it needs: [^]*notes is failed: setup: no way/);
  });
});

describe("the contract of a tool", { timeout: 120_000 }, () => {
  const right = {
    description: "Looks a word up",
    scope: "operator.read" as const,
    params: Strict({ word: Type.String({ minLength: 1 }) }),
    run: ({ word }: { word: string }) => `${word}: a word`,
  };
  const toolOf = (change: object): Tool => defineTool({ ...right, ...change } as never);
  const samples = [{ word: "tide" }];
  const tried = (change: object, more: object = {}) =>
    failuresOf((t) => toolContract(t, { tool: toolOf(change), name: "look_up", samples, patienceMs: 200, ...more }));

  it("is kept by one that is right", async () => exactly(await tried({}, { invalid: [{ word: "" }] })));

  const rows: readonly [what: string, change: object, found: RegExp][] = [
    ["no description", { description: " " }, /say what it does and when to use it/],
    [
      "params that take anything",
      { params: Type.Object({ word: Type.String({ minLength: 1 }) }) },
      /write params with Strict/,
    ],
    [
      "a throw that tells nothing",
      { run: () => Promise.reject(new Error("no disk")) },
      /failed: no disk; throw a GatewayError/,
    ],
    ["an answer that is none", { run: () => 7 }, /must return a text, or \{ content/],
    ["too long an answer", { run: () => "x".repeat(100_001) }, /more than 100000 characters/],
    ["changed arguments", { run: (args: { word: string }) => (args.word = "x") }, /read only/],
  ];
  for (const [what, change, pattern] of rows)
    it(`finds ${what}`, async () => {
      const found = await tried(change);
      assert.ok(
        found.some((line) => pattern.test(line)),
        found.join("\n") || "nothing was found",
      );
    });

  it("finds one that goes on after its run was stopped", async () => {
    const run = (_: unknown, { signal }: { signal: AbortSignal }) =>
      signal.aborted ? new Promise(() => {}) : new Promise((resolve) => void setTimeout(resolve, 1_000, "late"));
    exactly(await tried({ run }), /did not stop when its run was stopped/);
  });
});

describe("the contract of a model provider", { timeout: 120_000 }, () => {
  const answer = (events: readonly ModelEvent[]): ModelProvider => ({
    async *stream(_request, _account, signal) {
      signal.throwIfAborted();
      yield* events;
    },
  });
  const text = { type: "text", delta: "hi" } as const;
  const finish = { type: "finish", reason: "stop" } as const;
  const tried = (provider: ModelProvider) =>
    failuresOf((t) => providerContract(t, { provider, server: "none", patienceMs: 300 }));

  it("is kept by one that is right", async () => exactly(await tried(answer([text, finish]))));
  it("finds an answer without an end, or with two", async () => {
    exactly(await tried(answer([text])), /finish comes once and last, not: text/);
    exactly(await tried(answer([text, finish, finish])), /finish comes once and last, not: text, finish, finish/);
  });
  it("finds one that asks though it was stopped, and one that cannot be stopped", async () => {
    const deaf: ModelProvider = {
      async *stream() {
        yield text;
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        yield finish;
      },
    };
    exactly(await tried(deaf), /it went on after it was stopped/, /it went on after it was stopped/);
  });
  it("finds refusals that failover cannot read, and that tell the key", async () => {
    const provider: ModelProvider = {
      async *stream(request, { baseUrl = "", apiKey = "" }, signal) {
        const response = await fetch(`${baseUrl}/chat/completions`, {
          method: "POST",
          signal,
          body: JSON.stringify({ model: request.model.id, messages: [{ role: "user", content: "x" }] }),
        });
        await response.text();
        if (!response.ok) throw new GatewayError("UNAVAILABLE", `refused ${apiKey}`);
        yield* [text, finish];
      },
    };
    const found = await failuresOf((t) => providerContract(t, { provider, patienceMs: 300 }));
    assert.ok(
      found.some((line) => /says "auth".*the message tells the key/.test(line)),
      found.join("\n"),
    );
    assert.ok(
      found.some((line) => /nobody listens: it throws TypeError: fetch failed/.test(line)),
      found.join("\n"),
    );
  });
});

describe("the contract of a transform", () => {
  const examples = [{ name: "down", payload: { status: "down" }, expect: { kind: "wake", text: "down" } }];
  const payload = Type.Object({ status: Type.String() });
  const transform = ({ payload: { status } }: { payload: { status: string } }) =>
    ({ kind: "wake", text: status }) as const;
  const right = { payload, examples, transform };
  const tried = (change: object) =>
    failuresOf((t) => transformContract(t, { transform: defineTransform({ ...right, ...change } as typeof right) }));

  it("is kept by one that is right", async () => exactly(await tried({})));

  const rows: readonly [what: string, change: object, found: RegExp][] = [
    ["no example", { examples: [] }, /has examples, one of which becomes an action/],
    ["an example that does not hold", { transform: () => ({ kind: "wake", text: "up" }) }, /example "down" holds: /],
    ["a schema that lets everything through", { payload: Type.Unknown() }, /refuses payloads/],
    [
      "a payload that is changed",
      { transform: (context: { payload: { status: string } }) => (context.payload.status = "x") },
      /must not change its payload/,
    ],
    [
      "a misspelt field",
      {
        examples: [{ payload: { status: "down" }, expect: { kind: "wake", txt: "down" } }],
        transform: () => ({ kind: "wake", txt: "down" }),
      },
      /is no wake action/,
    ],
  ];
  for (const [what, change, pattern] of rows)
    it(`finds ${what}`, async () => {
      const found = await tried(change);
      assert.ok(
        found.some((line) => pattern.test(line)),
        found.join("\n") || "nothing was found",
      );
    });
});

describe("the contract of a channel", { timeout: 120_000 }, () => {
  /** The channel of the template, changed, against its network. */
  const tried = (change: (channel: Channel, network: LineServer) => Partial<Channel>) =>
    failuresOf(async (t) => {
      const network = await startLineServer();
      t.after(() => network.close());
      const config = { channels: { "sample-name": { port: network.port } } };
      const channel = await contributionOf(t, Channel, "sample-name", { plugin: channelPlugin, config });
      const changed = { ...channel, ...change(channel, network) };
      await channelContract(t, { channel: changed, network, targets: ["ada"], patienceMs: 400 });
    });

  it("is kept by the one of the template", async () => exactly(await tried(() => ({}))));

  const rows: readonly [what: string, change: Parameters<typeof tried>[0], found: RegExp][] = [
    [
      "accounts that are no data",
      () => ({ accounts: [{ id: "default", settings: { f: () => 1 } }] }),
      /could not be cloned|data alone/,
    ],
    [
      "an address that changes when it is asked for again",
      () => ({ target: (text) => (/^\w+$/.test(text) ? `@${text}` : undefined) }),
      /must leave its own answer/,
    ],
    ["garbage that is taken for an address", () => ({ target: (text) => text }), /is no address/],
    [
      "a run that never ends",
      ({ run }) => ({ run: (how) => run(how).then(() => new Promise(() => {})) }),
      /run must end when its signal/,
    ],
    [
      "ids that are all the same",
      ({ run }) => ({ run: (how) => run({ ...how, receive: (message) => how.receive({ ...message, id: "1" }) }) }),
      /two messages must have two ids/,
    ],
    [
      "a text that is sent though nobody wants it any more",
      ({ send }) => ({ send: (message) => send({ ...message, signal: new AbortController().signal }) }),
      /send must refuse when its signal has aborted/,
    ],
    [
      "a text that is cut",
      ({ send }) => ({ send: (message) => send({ ...message, text: message.text.slice(0, 1_000) }) }),
      /what was sent never reached the network/,
    ],
    [
      "an error without a code",
      ({ send }) => ({ send: (message) => send(message).catch(() => Promise.reject(new Error("no"))) }),
      /send throws Error: no; throw a GatewayError/,
    ],
  ];
  for (const [what, change, pattern] of rows)
    it(`finds ${what}`, async () => {
      const found = await tried(change);
      assert.ok(
        found.some((line) => pattern.test(line)),
        found.join("\n") || "nothing was found",
      );
    });
});
