/** The contract of a model provider: pieces in order, one end, a stop that stops, and refusals that failover can read. */
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

/** The server a provider is tried against. */
export type ContractModelServer = Pick<FakeModelServer, "url" | "reply" | "close">;

/** What is tried. */
export interface ProviderContractOptions {
  readonly provider: ModelProvider;
  /**
   * Default: a fake model server, which speaks chat completions and the Messages API of Anthropic. A provider of another
   * language brings a server of its own that answers by the same script; `none`: it asks nobody.
   */
  readonly server?: "none" | (() => Promise<ContractModelServer>);
  /** Account for a server at this address. Default: the address as it is, and a key. */
  readonly account?: (url: string) => ProviderAccount;
  readonly model?: Partial<ModelRequest["model"]>;
  /** Milliseconds it may take after it was stopped. Default 5000. */
  readonly patienceMs?: number;
}

const KEY = "contract-secret-key";

/** Statuses every server has, and what they mean for the next account. */
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

/** Registers subtests: an answer, tools, a stop before and within the answer, and each way in which a server fails. */
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
  await t.test("lists its own models as they are listed everywhere", async () => {
    for (const { id, name } of scene.provider.builtin ?? []) assert.ok(id && name, "a builtin model needs id and name");
  });

  await t.test("yields the text in pieces, then finish, once and last", async () => {
    server?.reply({ text: "one two three" });
    const events = await collect(scene);
    const text = events.flatMap((event) => (event.type === "text" ? [event.delta] : [])).join("");
    assert.ok(text.length > 0, "it must yield text");
    if (server) assert.equal(text, "one two three", "the pieces together are what the server said");
    const last = expectFinish(events);
    if (server) assert.equal(last.reason, "stop", "a whole answer ends with the reason stop");
  });

  if (!server) return;
  await t.test("yields what the model wants of a tool, and says so at the end", async () => {
    server.reply({ toolCalls: [{ name: "look_up", arguments: { word: "tide" }, id: "call_contract" }] });
    const parameters = { type: "object", properties: { word: { type: "string" } }, required: ["word"] };
    const events = await collect(scene, { tools: [{ name: "look_up", description: "Looks a word up", parameters }] });
    const calls = events.filter(({ type }) => type === "toolCall");
    const wanted = { type: "toolCall", id: "call_contract", name: "look_up", arguments: { word: "tide" } };
    assert.deepEqual(calls, [wanted], "arguments are parsed, and the id is the server's");
    assert.equal(expectFinish(events).reason, "toolUse");
  });
}

async function stops(t: ContractContext, scene: Scene, server: ContractModelServer | undefined): Promise<void> {
  const late = "it went on after it was stopped: pass the signal on to what waits";

  await t.test("asks nobody once it was stopped", async () => {
    const outcome = await inTime(outcomeOf(collect(scene, {}, AbortSignal.abort())), scene.patienceMs, late);
    if ("value" in outcome) assert.deepEqual(outcome.value, [], "it yields nothing for a signal that has aborted");
  });

  await t.test("stops in the middle of an answer", async () => {
    server?.reply({ text: "one two three", hangAfter: 1 });
    const stopping = new AbortController();
    const asked = scene.provider.stream(question(scene), scene.account(scene.url), stopping.signal);
    const stream = asked[Symbol.asyncIterator]();
    await inTime(stream.next(), scene.patienceMs, "its first piece never came");
    const next = outcomeOf(drain(stream));
    stopping.abort(new Error("stopped by the contract"));
    const rest = await inTime(next, scene.patienceMs, late);
    const finished = "value" in rest && rest.value.some(({ type }) => type === "finish");
    if (server) assert.ok(!finished, "an answer that was stopped has no finish");
  });

  await t.test("lets go when nobody wants the rest", async () => {
    server?.reply({ text: "one two three", hangAfter: 1 });
    const taken = (async () => {
      for await (const _ of scene.provider.stream(
        question(scene),
        scene.account(scene.url),
        new AbortController().signal,
      ))
        break;
    })();
    await inTime(taken, scene.patienceMs, "it does not end when the loop over its answer does");
  });
}

async function refuses(t: ContractContext, scene: Scene, server: ContractModelServer): Promise<void> {
  for (const [status, kind] of REFUSALS)
    await t.test(`says "${kind}" when the server answers ${status}`, async () => {
      server.reply({ status, message: `refused, key ${KEY}`, ...(status === 429 ? { retryAfter: 2 } : {}) });
      const error = await refusalOf(scene);
      assert.deepEqual(failureOf(error), { kind, status }, "details are a ProviderFailure: { kind, status }");
      if (status === 429) assert.equal(error.retryAfterMs, 2_000, "retry-after of the server becomes retryAfterMs");
    });

  await t.test("says what it is when the server breaks off", async () => {
    server.reply({ text: "one two three", breakAfter: 1 });
    const { kind } = failureOf(await refusalOf(scene));
    assert.ok(["network", "server_error", "timeout"].includes(String(kind)), `a broken answer is no "${String(kind)}"`);
  });

  await t.test("says what it is when nobody listens", async () => {
    assert.equal(failureOf(await refusalOf({ ...scene, url: await deadUrl() })).kind, "network");
  });

  await t.test("answers again after all that", async () => {
    server.reply({ text: "well again" });
    expectFinish(await collect(scene));
  });
}

/** Where a server was a moment ago. */
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

/** The one `finish`. */
function expectFinish(events: readonly ModelEvent[]): Extract<ModelEvent, { type: "finish" }> {
  const last = events.at(-1);
  const finishes = events.filter(({ type }) => type === "finish").length;
  assert.ok(
    last?.type === "finish" && finishes === 1,
    `finish comes once and last, not: ${events.map(({ type }) => type).join(", ")}`,
  );
  for (const [name, tokens] of Object.entries(last.usage ?? {}))
    if (name !== "cost")
      assert.ok(Number.isInteger(tokens) && Number(tokens) >= 0, `usage.${name} is a number of tokens`);
  return last;
}

async function refusalOf(scene: Scene): Promise<GatewayError> {
  const outcome = await inTime(outcomeOf(collect(scene)), scene.patienceMs * 2, "it neither answered nor refused");
  if ("value" in outcome) return assert.fail("it answered where it should refuse");
  const { error } = outcome;
  assert.ok(isGatewayError(error), `it throws ${String(error)}; throw a GatewayError with the code UNAVAILABLE`);
  assert.equal(error.code, "UNAVAILABLE");
  assert.ok(!error.message.includes(KEY), `the message tells the key: ${error.message}; see providerFailure`);
  assert.ok(!JSON.stringify(error.details).includes(KEY), "the details tell the key");
  return error;
}

function failureOf({ details, message }: GatewayError): Partial<ProviderFailure> {
  assert.ok(
    typeof details === "object" && details !== null && "kind" in details,
    `"${message}" has no ProviderFailure as details; see refuseAnswer`,
  );
  return details as Partial<ProviderFailure>; // whatever else it holds is compared
}
