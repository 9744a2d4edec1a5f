/**
 * Contract suite of a model provider: chunk order, a single end, stopping on abort, and errors that failover
 * understands.
 */
import assert from "node:assert/strict";
import { isGatewayError } from "../../gateway-error.ts";
import type { GatewayError } from "../../gateway-error.ts";
import type {
  ModelEvent,
  ModelProvider,
  ModelRequest,
  ProviderAccount,
  ProviderFailure,
} from "../../models/service.ts";
import { type FakeModelServer, startFakeModelServer } from "../fake-model-server.ts";
import { startLeakCheck } from "../leak-check.ts";
import { type ContractContext, inTime, outcomeOf, PATIENCE_MS } from "./context.ts";

/** The model server the provider is tested against. */
export type ContractModelServer = Pick<FakeModelServer, "url" | "reply" | "close">;

/** Options of `providerContract`. */
export interface ProviderContractOptions {
  readonly provider: ModelProvider;
  /**
   * Default: a fake model server for chat completions and the Messages API of Anthropic. A provider for another API
   * passes its own server that answers from the same script; `none`: the provider calls no server.
   */
  readonly server?: "none" | (() => Promise<ContractModelServer>);
  /** Account for a server at this address. Default: the address itself, and a key. */
  readonly account?: (url: string) => ProviderAccount;
  readonly model?: Partial<ModelRequest["model"]>;
  /** Milliseconds to end after an abort. Default 5000. */
  readonly patienceMs?: number;
}

const KEY = "contract-secret-key";

/** HTTP statuses of failures, and the failure kind that each must produce. */
const REFUSALS: readonly (readonly [status: number, kind: ProviderFailure["kind"]])[] = [
  [401, "auth"],
  [429, "rate_limit"],
  [500, "server_error"],
];

interface Scene extends ProviderContractOptions {
  readonly account: (url: string) => ProviderAccount;
  readonly url: string;
  readonly patienceMs: number;
}

/** Registers subtests: an answer, tools, an abort before and during the answer, and each kind of server failure. */
export async function providerContract(t: ContractContext, options: ProviderContractOptions): Promise<void> {
  const leaks = startLeakCheck();
  const server = options.server === "none" ? undefined : await (options.server ?? startFakeModelServer)();
  const account = options.account ?? ((url: string) => ({ name: "contract", baseUrl: url, apiKey: KEY }));
  const scene: Scene = { patienceMs: PATIENCE_MS, ...options, account, url: server?.url ?? "http://127.0.0.1:9" };
  await answers(t, scene, server);
  await stops(t, scene, server);
  if (server) await refuses(t, scene, server);
  await server?.close();
  await t.test("leaves nothing open", () => leaks.expectNone());
}

async function answers(t: ContractContext, scene: Scene, server: ContractModelServer | undefined): Promise<void> {
  await t.test("lists its built-in models with id and name", async () => {
    for (const { id, name } of scene.provider.builtin ?? []) assert.ok(id && name, "a builtin model needs id and name");
  });

  await t.test("yields the text in chunks, then a single finish", async () => {
    server?.reply({ text: "one two three" });
    const events = await collect(scene);
    const text = events.flatMap((event) => (event.type === "text" ? [event.delta] : [])).join("");
    assert.ok(text.length > 0, "the provider must yield text");
    if (server) assert.equal(text, "one two three", "the chunks must add up to the text of the server");
    const last = expectFinish(events);
    if (server) assert.equal(last.reason, "stop", "a complete answer must end with the reason stop");
  });

  if (!server) return;
  await t.test("yields tool calls, and finishes with toolUse", async () => {
    server.reply({ toolCalls: [{ name: "look_up", arguments: { word: "tide" }, id: "call_contract" }] });
    const parameters = { type: "object", properties: { word: { type: "string" } }, required: ["word"] };
    const events = await collect(scene, { tools: [{ name: "look_up", description: "Looks a word up", parameters }] });
    const calls = events.filter(({ type }) => type === "toolCall");
    const wanted = { type: "toolCall", id: "call_contract", name: "look_up", arguments: { word: "tide" } };
    assert.deepEqual(calls, [wanted], "arguments must be parsed, and the id must be the server's");
    assert.equal(expectFinish(events).reason, "toolUse");
  });
}

async function stops(t: ContractContext, scene: Scene, server: ContractModelServer | undefined): Promise<void> {
  const late = "it continued after the abort: pass the signal on to every wait";

  await t.test("sends nothing after an abort", async () => {
    const outcome = await inTime(outcomeOf(collect(scene, {}, AbortSignal.abort())), scene.patienceMs, late);
    if ("value" in outcome) assert.deepEqual(outcome.value, [], "nothing may be yielded after an abort");
  });

  await t.test("stops in the middle of an answer", async () => {
    server?.reply({ text: "one two three", hangAfter: 1 });
    const stopping = new AbortController();
    const asked = scene.provider.stream(question(scene), scene.account(scene.url), stopping.signal);
    const stream = asked[Symbol.asyncIterator]();
    await inTime(stream.next(), scene.patienceMs, "the first chunk never arrived");
    const next = outcomeOf(drain(stream));
    stopping.abort(new Error("stopped by the contract"));
    const rest = await inTime(next, scene.patienceMs, late);
    const finished = "value" in rest && rest.value.some(({ type }) => type === "finish");
    if (server) assert.ok(!finished, "an aborted answer must not finish");
  });

  await t.test("stops when the reader stops early", async () => {
    server?.reply({ text: "one two three", hangAfter: 1 });
    const taken = (async () => {
      for await (const _ of scene.provider.stream(
        question(scene),
        scene.account(scene.url),
        new AbortController().signal,
      ))
        break;
    })();
    await inTime(taken, scene.patienceMs, "the stream does not end with the loop that reads it");
  });
}

async function refuses(t: ContractContext, scene: Scene, server: ContractModelServer): Promise<void> {
  for (const [status, kind] of REFUSALS)
    await t.test(`reports "${kind}" when the server responds ${status}`, async () => {
      server.reply({ status, message: `refused, key ${KEY}`, ...(status === 429 ? { retryAfter: 2 } : {}) });
      const error = await refusalOf(scene);
      assert.deepEqual(failureOf(error), { kind, status }, "details must be a ProviderFailure: { kind, status }");
      if (status === 429) assert.equal(error.retryAfterMs, 2_000, "retry-after of the server must become retryAfterMs");
    });

  await t.test("reports a connection that breaks off", async () => {
    server.reply({ text: "one two three", breakAfter: 1 });
    const { kind } = failureOf(await refusalOf(scene));
    assert.ok(
      ["network", "server_error", "timeout"].includes(String(kind)),
      `an interrupted answer must not be "${String(kind)}"`,
    );
  });

  await t.test("reports a server that cannot be reached", async () => {
    assert.equal(failureOf(await refusalOf({ ...scene, url: await deadUrl() })).kind, "network");
  });

  await t.test("answers again after these failures", async () => {
    server.reply({ text: "well again" });
    expectFinish(await collect(scene));
  });
}

/** Address of a server that was just closed. */
async function deadUrl(): Promise<string> {
  const server = await startFakeModelServer();
  await server.close();
  return server.url;
}

function question({ model, provider }: Scene, changes: Partial<ModelRequest> = {}): ModelRequest {
  const id = provider.builtin?.[0]?.id ?? "fake-model";
  return {
    model: { provider: "contract", id, name: "Contract", api: "contract", ...model },
    system: "Answer in a few words.",
    messages: [
      { role: "user", content: [{ type: "text", text: "Say something, in more than one word." }], timestamp: 1 },
    ],
    tools: [],
    ...changes,
  };
}

async function collect(
  scene: Scene,
  changes: Partial<ModelRequest> = {},
  signal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of scene.provider.stream(question(scene, changes), scene.account(scene.url), signal))
    events.push(event);
  return events;
}

async function drain(stream: AsyncIterator<ModelEvent>): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for (let step = await stream.next(); !step.done; step = await stream.next()) events.push(step.value);
  return events;
}

/** The single `finish` event. */
function expectFinish(events: readonly ModelEvent[]): Extract<ModelEvent, { type: "finish" }> {
  const last = events.at(-1);
  const finishes = events.filter(({ type }) => type === "finish").length;
  assert.ok(
    last?.type === "finish" && finishes === 1,
    `finish must come once and last, not: ${events.map(({ type }) => type).join(", ")}`,
  );
  for (const [name, tokens] of Object.entries(last.usage ?? {}))
    if (name !== "cost")
      assert.ok(Number.isInteger(tokens) && Number(tokens) >= 0, `usage.${name} must be a number of tokens`);
  return last;
}

async function refusalOf(scene: Scene): Promise<GatewayError> {
  const outcome = await inTime(
    outcomeOf(collect(scene)),
    scene.patienceMs * 2,
    "the provider neither answered nor failed",
  );
  if ("value" in outcome) return assert.fail("the provider answered where it should fail");
  const { error } = outcome;
  assert.ok(
    isGatewayError(error),
    `the provider throws ${String(error)}; throw a GatewayError with the code UNAVAILABLE`,
  );
  assert.equal(error.code, "UNAVAILABLE");
  assert.ok(!error.message.includes(KEY), `the message reveals the key: ${error.message}; see providerFailure`);
  assert.ok(!JSON.stringify(error.details).includes(KEY), "the details reveal the key");
  return error;
}

function failureOf({ details, message }: GatewayError): Partial<ProviderFailure> {
  assert.ok(
    typeof details === "object" && details !== null && "kind" in details,
    `"${message}" has no ProviderFailure as details; see refuseAnswer`,
  );
  return details as Partial<ProviderFailure>; // further fields are compared by the caller
}
