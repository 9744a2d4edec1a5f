// long: reloads plugins many times
// own process: counts what is open in the process
/** The contract suites find the faults they test for: each case has exactly one fault. */
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

/** Runs a suite like `node:test`. @returns `name: message` of each check that failed */
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

const finds = (found: readonly string[], pattern: RegExp) =>
  assert.ok(
    found.some((line) => pattern.test(line)),
    found.join("\n") || "nothing was found",
  );

/** A test for each change, which the suite finds. */
function findsEach<Change>(
  rows: readonly (readonly [what: string, change: Change, found: RegExp])[],
  tried: (change: Change) => Promise<string[]>,
) {
  for (const [what, change, pattern] of rows) it(`finds ${what}`, async () => finds(await tried(change), pattern));
}

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

  it("is fulfilled by a correct one", async () => {
    const contract = contractOf();
    exactly(await failuresOf((t) => namespaceContract(t, { plugin: pluginOf(contract), contract, samples })));
  });

  it("finds params that accept anything, an invalid result, and an invalid sample", async () => {
    const open = contractOf({ params: Type.Object({ text: Type.String({ minLength: 1 }) }) });
    exactly(
      await failuresOf((t) => namespaceContract(t, { plugin: pluginOf(open), contract: open, samples })),
      /accepts unknown keys: write its params with Strict/,
    );
    const contract = contractOf();
    const wrong = { plugin: pluginOf(contract, {}, { id: 1 }), contract, gateway: { logLevel: "silent" } };
    exactly(await failuresOf((t) => namespaceContract(t, { ...wrong, samples })), /notes\.add with .* internal error/);
    const bad = { plugin: pluginOf(contract), contract, samples: { add: [{ text: "" }] } };
    exactly(
      await failuresOf((t) => namespaceContract(t, bad as never)),
      /the sample \{"text":""\} of notes\.add does not match/,
    );
  });

  it("finds a method that is not served, or open to everyone", async () => {
    const contract = contractOf();
    const more: Contract = { ...contract, ...defineContract("notes", { list: { ...spec, summary: "Lists" } }) };
    const found = await failuresOf((t) =>
      namespaceContract(t, { plugin: pluginOf(contract), contract: more, samples }),
    );
    finds(found, /notes\.list is not served; add it to gateway\.serve/);
    const free = pluginOf(contractOf({ scope: "none" }));
    exactly(
      await failuresOf((t) => namespaceContract(t, { plugin: free, contract, samples })),
      /notes\.add allows only callers with the scope operator\.write: .*notes\.add with \[\]/,
    );
  });

  it("finds resources that setup opens, and those left open by reloads and at the end", async () => {
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
      /opens nothing in setup: setup may only declare/,
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

  it("reports why a plugin does not run", async () => {
    const contract = contractOf();
    const broken = pluginOf(contract, { setup: () => Promise.reject(new Error("no way")) });
    const found = await failuresOf((t) =>
      namespaceContract(t, { plugin: broken, contract, samples, gateway: { logLevel: "silent" } }),
    );
    assert.match(found[0] ?? "", /^runs with everything it needs: [^]*notes is failed: setup: no way/);
  });
});

describe("the contract of a tool", { timeout: 120_000 }, () => {
  const Word = Type.String({ minLength: 1 });
  const failing = () => Promise.reject(new Error("no disk"));
  const right = {
    description: "Looks a word up",
    scope: "operator.read" as const,
    params: Strict({ word: Word }),
    run: ({ word }: { word: string }) => `${word}: a word`,
  };
  const toolOf = (change: object): Tool => defineTool({ ...right, ...change } as never);
  const samples = [{ word: "tide" }];
  const tried = (change: object, more: object = {}) =>
    failuresOf((t) => toolContract(t, { tool: toolOf(change), name: "look_up", samples, patienceMs: 200, ...more }));

  it("is fulfilled by a correct one", async () => exactly(await tried({}, { invalid: [{ word: "" }] })));

  const rows: readonly [what: string, change: object, found: RegExp][] = [
    ["no description", { description: " " }, /say what the tool does and when to use it/],
    ["params that accept anything", { params: Type.Object({ word: Word }) }, /write params with Strict/],
    ["an error without a message for the model", { run: failing }, /failed: no disk; throw a GatewayError/],
    ["an invalid result", { run: () => 7 }, /must return a string, or \{ content/],
    ["a result that is too long", { run: () => "x".repeat(100_001) }, /more than 100000 characters/],
    ["changed arguments", { run: (args: { word: string }) => (args.word = "x") }, /read only/],
  ];
  findsEach(rows, tried);

  it("finds a tool that continues after its run was stopped", async () => {
    const run = (_: unknown, { signal }: { signal: AbortSignal }) =>
      signal.aborted ? new Promise(() => {}) : new Promise((resolve) => void setTimeout(resolve, 1_000, "late"));
    exactly(await tried({ run }), /did not stop with its run/);
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

  it("is fulfilled by a correct one", async () => exactly(await tried(answer([text, finish]))));
  it("finds an answer without an end, or with two", async () => {
    exactly(await tried(answer([text])), /finish must come once and last, not: text/);
    exactly(await tried(answer([text, finish, finish])), /finish must come once and last, not: text, finish, finish/);
  });
  it("finds a provider that ignores an abort", async () => {
    const deaf: ModelProvider = {
      async *stream() {
        yield text;
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        yield finish;
      },
    };
    exactly(await tried(deaf), /it continued after the abort/, /it continued after the abort/);
  });
  it("finds errors that failover cannot read, and that reveal the key", async () => {
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
    finds(found, /reports "auth".*the message reveals the key/);
    finds(found, /cannot be reached: the provider throws TypeError: fetch failed/);
  });
});

describe("the contract of a transform", () => {
  const examples = [{ name: "down", payload: { status: "down" }, expect: { kind: "wake", text: "down" } }];
  const payload = Type.Object({ status: Type.String() });
  const transform = ({ payload: { status } }: { payload: { status: string } }) =>
    ({ kind: "wake", text: status }) as const;
  const right = { payload, examples, transform };
  const changing = (context: { payload: { status: string } }) => (context.payload.status = "x");
  const misspelled = { kind: "wake", txt: "down" };
  const tried = (change: object) =>
    failuresOf((t) => transformContract(t, { transform: defineTransform({ ...right, ...change } as typeof right) }));

  it("is fulfilled by a correct one", async () => exactly(await tried({})));

  const rows: readonly [what: string, change: object, found: RegExp][] = [
    ["no example", { examples: [] }, /has an example that results in an action/],
    ["an example that does not hold", { transform: () => ({ kind: "wake", text: "up" }) }, /example "down" holds: /],
    ["a schema that accepts everything", { payload: Type.Unknown() }, /rejects payloads/],
    ["a payload that is changed", { transform: changing }, /must not change its payload/],
    [
      "a misspelled field",
      { examples: [{ ...examples[0], expect: misspelled }], transform: () => misspelled },
      /is not a wake action/,
    ],
  ];
  findsEach(rows, tried);
});

describe("the contract of a channel", { timeout: 120_000 }, () => {
  /** A modified copy of the template's channel, against its network. */
  const tried = (change: (channel: Channel, network: LineServer) => Partial<Channel>) =>
    failuresOf(async (t) => {
      const network = await startLineServer();
      t.after(() => network.close());
      const config = { channels: { "sample-name": { port: network.port } } };
      const channel = await contributionOf(t, Channel, "sample-name", { plugin: channelPlugin, config });
      const changed = { ...channel, ...change(channel, network) };
      await channelContract(t, { channel: changed, network, targets: ["ada"], patienceMs: 400 });
    });

  /** The channel with an ability that reaches the network, or not. */
  const editing = (reaches: boolean, evidence: object = {}) =>
    failuresOf(async (t) => {
      const network = await startLineServer();
      t.after(() => network.close());
      const config = { channels: { "sample-name": { port: network.port } } };
      const channel = await contributionOf(t, Channel, "sample-name", { plugin: channelPlugin, config });
      const edits: string[] = [];
      const able = {
        ...channel,
        capabilities: { ...channel.capabilities, edits: true },
        send: async (message: Parameters<Channel["send"]>[0]) => ({ messageId: "1", ...(await channel.send(message)) }),
        async edit({ text }: { text: string }) {
          if (reaches) edits.push(text);
        },
      };
      const seen = {
        ...network,
        says: network.says,
        heard: network.heard,
        evidence: { edits: () => edits, ...evidence },
      };
      await channelContract(t, { channel: able, network: seen, targets: ["ada"], patienceMs: 400 });
    });

  it("covers a declared ability", async () => {
    exactly(await editing(true));
    exactly(await editing(false), /^edits reach the network: nothing of edits reached the network/);
    exactly(await editing(true, { edits: undefined }), /the channel declares edits; pass network\.evidence\.edits/);
  });

  const notPlain = { accounts: [{ id: "default", settings: { f: () => 1 } }] };
  const growing = (text: string) => (/^\w+$/.test(text) ? `@${text}` : undefined);

  it("is fulfilled by the template", async () => exactly(await tried(() => ({}))));

  const rows: readonly [what: string, change: Parameters<typeof tried>[0], found: RegExp][] = [
    ["accounts that are not plain data", () => notPlain, /could not be cloned|plain data/],
    ["an address that changes when normalized again", () => ({ target: growing }), /must return its own result/],
    ["garbage accepted as an address", () => ({ target: (text) => text }), /must not be an address/],
    [
      "a run that never ends",
      ({ run }) => ({ run: (how) => run(how).then(() => new Promise(() => {})) }),
      /run must end when its signal/,
    ],
    [
      "identical ids",
      ({ run }) => ({ run: (how) => run({ ...how, receive: (message) => how.receive({ ...message, id: "1" }) }) }),
      /two messages must have different ids/,
    ],
    [
      "a text sent after an abort",
      ({ send }) => ({ send: (message) => send({ ...message, signal: new AbortController().signal }) }),
      /send must fail when its signal has aborted/,
    ],
    [
      "a truncated text",
      ({ send }) => ({ send: (message) => send({ ...message, text: message.text.slice(0, 1_000) }) }),
      /the sent text never reached the network/,
    ],
    [
      "an error without a code",
      ({ send }) => ({ send: (message) => send(message).catch(() => Promise.reject(new Error("no"))) }),
      /send throws Error: no; throw a GatewayError/,
    ],
  ];
  findsEach(rows, tried);
});
