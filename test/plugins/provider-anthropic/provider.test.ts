import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { GatewayError } from "@svc/sdk";
import type { AssistantMessage, Message, ModelEvent, ModelRequest, ProviderAccount } from "@svc/sdk/models";
import { createMessagesApi } from "../../../plugins/provider-anthropic/api.ts";
import { createProvider } from "../../../plugins/provider-anthropic/provider.ts";
import { REDACTED } from "../../../plugins/provider-anthropic/translate.ts";
import {
  type FakeModelReply,
  type FakeModelServer,
  startFakeModelServer,
} from "../../../sdk/testing/fake-model-server.ts";

const KEY = "sk-very-secret-key";
const model = { provider: "acme", id: "claude-haiku-4-5", name: "Fake", api: "anthropic-messages", reasoning: true };

/** A valid request; each case changes one field. */
const request = (changes: Partial<ModelRequest> = {}): ModelRequest => ({
  model,
  system: "Be kind.",
  messages: [{ role: "user", content: [{ type: "text", text: "hi there" }], timestamp: 1 }],
  tools: [],
  ...changes,
});
const env = { ANTHROPIC_CUSTOM_HEADERS: "x-of-somebody: 1" };
const newProvider = () => createProvider(createMessagesApi({ clock: { now: () => Date.now() }, env }));

describe("Messages API provider", { timeout: 120_000 }, () => {
  let server: FakeModelServer;
  let account: ProviderAccount;
  const provider = newProvider();

  beforeEach(async () => {
    server = await startFakeModelServer();
    account = { name: "acme", baseUrl: server.url, apiKey: KEY };
  });
  afterEach(() => server.close());

  async function ask(
    changes: Partial<ModelRequest> = {},
    signal = new AbortController().signal,
  ): Promise<ModelEvent[]> {
    const events: ModelEvent[] = [];
    for await (const event of provider.stream(request(changes), account, signal)) events.push(event);
    return events;
  }

  /** The error of a request; asserts that it is one and contains no key. */
  async function refusal(changes: Partial<ModelRequest> = {}): Promise<GatewayError> {
    const error = await ask(changes).then(
      () => assert.fail("it answered"),
      (thrown: GatewayError) => thrown,
    );
    assert.equal(error.code, "UNAVAILABLE");
    assert.match(error.message, /model provider "acme"/u);
    assert.equal(error.cause, undefined);
    assert.doesNotMatch(JSON.stringify([error.message, error.details]) + String(error.stack), new RegExp(KEY, "u"));
    return error;
  }

  it("streams text piece by piece, then finish with usage, cache included", async () => {
    server.reply({
      pieces: ["Hel", "lo"],
      usage: { input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 40, cache_creation_input_tokens: 3 },
    });
    assert.deepEqual(await ask(), [
      { type: "text", delta: "Hel" },
      { type: "text", delta: "lo" },
      { type: "finish", reason: "stop", usage: { input: 5, output: 2, cacheRead: 40, cacheWrite: 3, totalTokens: 50 } },
    ]);
    const [sent] = server.requests;
    assert.equal(sent?.path, "/v1/messages");
    assert.deepEqual(sent.body, {
      model: model.id,
      stream: true,
      max_tokens: 8192,
      system: [{ type: "text", text: "Be kind.", cache_control: { type: "ephemeral" } }],
      messages: [{ role: "user", content: [{ type: "text", text: "hi there", cache_control: { type: "ephemeral" } }] }],
    });
  });

  it("has no usage when the server sends none", async () => {
    server.reply({ text: "hi", usage: false });
    assert.deepEqual((await ask()).at(-1), { type: "finish", reason: "stop" });
  });

  const reasons: [wire: string, reason: string][] = [
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
  ];
  for (const [wire, reason] of reasons) {
    it(`finishes with ${reason} after ${wire}`, async () => {
      server.reply({ text: "hi", usage: false, finishReason: wire });
      assert.deepEqual((await ask()).at(-1), { type: "finish", reason });
    });
  }

  it("completes a tool round with signed thinking, which the API requires back", async () => {
    const tools = [{ name: "add", description: "Adds", parameters: { type: "object", properties: {} } }];
    server.reply({
      thinking: "two numbers",
      signature: "sig-1",
      redactedThinking: "hidden",
      text: "Let me see.",
      toolCalls: [{ name: "add", arguments: { a: 1, b: 2 }, id: "toolu_1" }],
      usage: false,
    });
    const first = await ask({ tools, thinking: "low" });
    const call = { type: "toolCall", id: "toolu_1", name: "add", arguments: { a: 1, b: 2 } } as const;
    assert.deepEqual(joined(first), [
      { type: "thinking", delta: "two numbers", signature: "sig-1" },
      { type: "thinking", delta: "", signature: `${REDACTED}hidden` },
      { type: "text", delta: "Let me see." },
      call,
      { type: "finish", reason: "toolUse" },
    ]);
    assert.deepEqual(server.requests[0]?.body["thinking"], { type: "enabled", budget_tokens: 4096 });

    const answer: AssistantMessage = {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "two numbers", thinkingSignature: "sig-1" },
        { type: "thinking", thinking: "", thinkingSignature: `${REDACTED}hidden` },
        { type: "text", text: "Let me see." },
        call,
      ],
      api: model.api,
      provider: "acme",
      model: model.id,
      stopReason: "toolUse",
      timestamp: 2,
    };
    const result: Message = {
      role: "toolResult",
      toolCallId: "toolu_1",
      toolName: "add",
      content: [{ type: "text", text: "3" }],
      isError: false,
      timestamp: 3,
    };
    server.reply({ text: "3", usage: false });
    await ask({ tools, thinking: "low", messages: [...request().messages, answer, result] });
    assert.deepEqual(server.requests[1]?.body.messages?.[1]?.content, [
      { type: "thinking", thinking: "two numbers", signature: "sig-1" },
      { type: "redacted_thinking", data: "hidden" },
      { type: "text", text: "Let me see." },
      { type: "tool_use", id: "toolu_1", name: "add", input: { a: 1, b: 2 } },
    ]);
  });

  it("passes invalid JSON arguments on, so that the model gets an error", async () => {
    server.reply({ toolCalls: [{ name: "t", arguments: "{oops" }], usage: false });
    const [call] = await ask();
    assert.deepEqual(call, { type: "toolCall", id: "call_1", name: "t", arguments: { invalidJson: "{oops" } });
  });

  const refusals: [why: string, reply: FakeModelReply, message: RegExp, kind: string][] = [
    [
      "401",
      { status: 401, message: `invalid x-api-key ${KEY}` },
      /\(401\): check models\.providers\.acme\.apiKey.*invalid x-api-key \*\*\*/u,
      "auth",
    ],
    ["402", { status: 402 }, /requires payment \(402\)/u, "billing"],
    [
      "an empty account",
      { status: 400, message: "Your credit balance is too low" },
      /requires payment \(400\)/u,
      "billing",
    ],
    ["403", { status: 403 }, /refused the key \(403\)/u, "auth"],
    ["404", { status: 404 }, /does not know the model "claude-haiku-4-5" \(404\)/u, "request"],
    [
      "a context overflow",
      { status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" },
      /too long for "claude-haiku-4-5".*start a new session.*210000 tokens/u,
      "request",
    ],
    ["413", { status: 413 }, /\(413\)/u, "request"],
    ["504", { status: 504 }, /timed out \(504\)/u, "timeout"],
    ["500", { status: 500 }, /failed \(500\): try again later/u, "server_error"],
    ["529", { status: 529, message: "Overloaded" }, /failed \(529\): try again later.*Overloaded/u, "server_error"],
    [
      "an error inside the stream",
      { text: "a", errorEvent: { type: "overloaded_error", message: "Overloaded" } },
      /failed: try again later.*Overloaded/u,
      "server_error",
    ],
    ["a malformed stream", { text: "a", malformed: true }, /invalid JSON/u, "server_error"],
    ["a stream that just ends", { text: "a", finishReason: null }, /disconnected/u, "network"],
    ["a connection cut before the first piece", { text: "a b", breakAfter: 0 }, /disconnected/u, "network"],
    ["a connection cut between pieces", { text: "a b", breakAfter: 1 }, /disconnected/u, "network"],
    ["a model that declines", { text: "a", finishReason: "refusal" }, /declined.*rephrase/u, "request"],
    [
      "a tool call cut off by the limit",
      { toolCalls: [{ name: "t", arguments: '{"a": ' }], finishReason: "max_tokens" },
      /cut off inside a tool call; increase maxTokens/u,
      "request",
    ],
  ];
  for (const [why, reply, message, kind] of refusals) {
    it(`refuses ${why} with a sentence and the kind ${kind}, without trying again`, async () => {
      server.reply(reply);
      const { message: sentence, details } = await refusal();
      assert.match(sentence, message);
      assert.deepEqual(details, { kind, ...(reply.status === undefined ? {} : { status: reply.status }) });
      assert.equal(server.requests.length, 1);
    });
  }

  it("reports the retry delay of the server", async () => {
    server.reply({ status: 429, retryAfter: 7 });
    const { retryAfterMs, details } = await refusal();
    assert.deepEqual([retryAfterMs, details], [7_000, { kind: "rate_limit", status: 429 }]);
  });

  it("suggests starting the server if the connection is refused", async () => {
    await server.close();
    const { message, details } = await refusal();
    assert.match(message, /ECONNREFUSED.*is the server at http:\/\/127\.0\.0\.1:\d+\/v1 running\?/u);
    assert.deepEqual(details, { kind: "network" });
  });

  it("sends the key under both names to a compatible server, and nothing from the environment", async () => {
    await ask();
    const { headers } = server.requests[0] ?? assert.fail("nothing was asked");
    assert.deepEqual([headers.authorization, headers["x-api-key"]], [`Bearer ${KEY}`, KEY]);
    assert.equal(headers["x-of-somebody"], undefined);
  });

  it("sends the headers of an account without a key and no key", async () => {
    const { name, baseUrl = "" } = account;
    account = { name, baseUrl, headers: { Authorization: "Bearer own", "x-team": "blue" } };
    await ask();
    account = { name, baseUrl };
    await ask();
    const [first, second] = server.requests;
    assert.deepEqual([first?.headers.authorization, first?.headers["x-team"]], ["Bearer own", "blue"]);
    assert.deepEqual([second?.headers.authorization, second?.headers["x-api-key"]], [undefined, undefined]);
  });

  for (const suffix of ["", "/", "/v1/"]) {
    it(`finds the server at an address that ends in "${suffix}"`, async () => {
      account = { ...account, baseUrl: server.url.replace("/v1", suffix) };
      assert.equal((await ask()).at(-1)?.type, "finish");
    });
  }

  it("aborts a hanging answer and closes the server's socket", async () => {
    server.reply({ text: "a b", hangAfter: 1 });
    const abort = new AbortController();
    const events = provider.stream(request(), account, abort.signal)[Symbol.asyncIterator]();
    assert.deepEqual(await events.next(), { done: false, value: { type: "text", delta: "a " } });
    const pending = events.next();
    const reason = new Error("stop it");
    abort.abort(reason);
    await assert.rejects(pending, reason);
    await server.requests[0]?.closed;
    assert.equal(server.requests[0]?.aborted, true);
  });

  it("sends no request if already aborted", async () => {
    await assert.rejects(ask({}, AbortSignal.abort(new Error("too late"))), { message: "too late" });
    assert.equal(server.requests.length, 0);
  });

  it("closes the server's socket when the reader stops reading", async () => {
    server.reply({ text: "a b", hangAfter: 1 });
    for await (const event of provider.stream(request(), account, new AbortController().signal)) {
      assert.equal(event.type, "text");
      break;
    }
    await server.requests[0]?.closed;
    assert.equal(server.requests[0]?.aborted, true);
  });
});

/** Merges pieces of one block; a signature ends a thinking block. */
function joined(events: readonly ModelEvent[]): ModelEvent[] {
  const all: ModelEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    const continues = last?.type === "thinking" && last.signature === undefined && event.type === "thinking";
    if (continues) all[all.length - 1] = { ...last, ...event, delta: last.delta + event.delta };
    else if (last?.type === "text" && event.type === "text")
      all[all.length - 1] = { ...last, delta: last.delta + event.delta };
    else all.push(event);
  }
  return all;
}
