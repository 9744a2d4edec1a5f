import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { GatewayError } from "@svc/sdk";
import type { Message, ModelEvent, ModelRequest, ProviderAccount } from "@svc/sdk/models";
import { createChatApi, NO_KEY } from "../../../plugins/provider-openai/api.ts";
import { createProvider } from "../../../plugins/provider-openai/provider.ts";
import {
  type FakeModelReply,
  type FakeModelServer,
  startFakeModelServer,
} from "../../../sdk/testing/fake-model-server.ts";

const KEY = "sk-very-secret-key";
const clock = { now: () => Date.now() };

/** A valid request; each case changes one field. */
const request = (changes: Partial<ModelRequest> = {}): ModelRequest => ({
  model: { provider: "acme", id: "fake-model", name: "Fake", api: "openai-completions" },
  system: "Be kind.",
  messages: [{ role: "user", content: [{ type: "text", text: "hi there" }], timestamp: 1 }],
  tools: [],
  ...changes,
});

describe("chat-completions provider", () => {
  let server: FakeModelServer;
  let account: ProviderAccount;
  const provider = createProvider(createChatApi({ clock }));

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
    assert.doesNotMatch(JSON.stringify([error.message, error.details]) + String(error.stack), new RegExp(KEY, "u"));
    return error;
  }

  it("streams text piece by piece, then finish with usage", async () => {
    server.reply({
      pieces: ["Hel", "lo"],
      usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11, prompt_tokens_details: { cached_tokens: 4 } },
    });
    assert.deepEqual(await ask(), [
      { type: "text", delta: "Hel" },
      { type: "text", delta: "lo" },
      { type: "finish", reason: "stop", usage: { input: 5, output: 2, cacheRead: 4, cacheWrite: 0, totalTokens: 11 } },
    ]);
    const [sent] = server.requests;
    assert.equal(sent?.headers.authorization, `Bearer ${KEY}`);
    assert.deepEqual(sent?.body, {
      model: "fake-model",
      messages: [
        { role: "system", content: "Be kind." },
        { role: "user", content: "hi there" },
      ],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it("has no usage when the server sends none", async () => {
    server.reply({ text: "hi", usage: false });
    assert.deepEqual((await ask()).at(-1), { type: "finish", reason: "stop" });
  });

  it("streams thinking before the text", async () => {
    server.reply({ thinking: "hm", text: "hi", usage: false });
    assert.deepEqual((await ask())[0], { type: "thinking", delta: "hm" });
  });

  it("reports that the token limit ended the answer", async () => {
    server.reply({ text: "hi", usage: false, finishReason: "length" });
    assert.deepEqual((await ask()).at(-1), { type: "finish", reason: "length" });
  });

  it("sends a placeholder for a missing key, and the account's headers", async () => {
    const { name, baseUrl = "" } = account;
    account = { name, baseUrl, headers: { "x-team": "blue" } };
    await ask();
    assert.equal(server.requests[0]?.headers.authorization, `Bearer ${NO_KEY}`);
    assert.equal(server.requests[0]?.headers["x-team"], "blue");
  });

  it("uses a changed account from the next request on", async () => {
    await ask();
    account = { ...account, apiKey: "another-key" };
    await ask();
    assert.deepEqual(
      server.requests.map(({ headers }) => headers.authorization),
      [`Bearer ${KEY}`, "Bearer another-key"],
    );
  });

  it("ignores the client library's environment variables", async (t) => {
    const before = process.env["OPENAI_ORG_ID"];
    process.env["OPENAI_ORG_ID"] = "org-of-somebody";
    t.after(() =>
      before === undefined ? delete process.env["OPENAI_ORG_ID"] : (process.env["OPENAI_ORG_ID"] = before),
    );
    account = { ...account, name: "fresh-client" };
    await ask();
    assert.equal(server.requests[0]?.headers["openai-organization"], undefined);
  });

  it("completes a tool round: call, result, answer", async () => {
    const tools = [{ name: "add", description: "Adds", parameters: { type: "object", properties: {} } }];
    server.reply({
      text: "Let me see.",
      toolCalls: [{ name: "add", arguments: { a: 1, b: 2 }, id: "c1" }],
      usage: false,
    });
    const first = await ask({ tools });
    const call = { type: "toolCall", id: "c1", name: "add", arguments: { a: 1, b: 2 } } as const;
    assert.deepEqual(first.slice(-2), [call, { type: "finish", reason: "toolUse" }]);

    const { messages } = request();
    const history: Message[] = [
      ...messages,
      {
        role: "assistant",
        content: [{ type: "text", text: "Let me see." }, call],
        api: "openai-completions",
        provider: "acme",
        model: "fake-model",
        stopReason: "toolUse",
        timestamp: 2,
      },
      {
        role: "toolResult",
        toolCallId: "c1",
        toolName: "add",
        content: [{ type: "text", text: "3" }],
        isError: false,
        timestamp: 3,
      },
    ];
    server.reply({ text: "3", usage: false });
    await ask({ tools, messages: history });
    assert.deepEqual(server.requests[1]?.body.messages?.slice(2), [
      {
        role: "assistant",
        content: "Let me see.",
        tool_calls: [{ id: "c1", type: "function", function: { name: "add", arguments: '{"a":1,"b":2}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: "3" },
    ]);
    assert.deepEqual(server.requests[1]?.body.tools, [
      {
        type: "function",
        function: { name: "add", description: "Adds", parameters: { type: "object", properties: {} } },
      },
    ]);
  });

  it("sends an image as a data URL", async () => {
    const content = [
      { type: "text", text: "what is this?" },
      { type: "image", data: "QUJD", mimeType: "image/png" },
    ] as const;
    await ask({ messages: [{ role: "user", content, timestamp: 1 }] });
    assert.deepEqual(server.requests[0]?.body.messages?.at(-1)?.content, [
      { type: "text", text: "what is this?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } },
    ]);
  });

  const refusals: [why: string, reply: FakeModelReply, message: RegExp, kind: string][] = [
    [
      "401",
      { status: 401, message: `bad key ${KEY}` },
      /\(401\): check models\.providers\.acme\.apiKey.*bad key \*\*\*/u,
      "auth",
    ],
    ["402", { status: 402 }, /requires payment \(402\)/u, "billing"],
    ["404", { status: 404 }, /does not know the model "fake-model" \(404\)/u, "request"],
    ["400", { status: 400, message: "too long" }, /did not accept the request \(400\).*too long/u, "request"],
    ["408", { status: 408 }, /\(408\)/u, "timeout"],
    ["500", { status: 500, message: "on fire" }, /failed \(500\): try again later\. It says: on fire/u, "server_error"],
    ["a malformed stream", { text: "a", malformed: true }, /invalid JSON/u, "server_error"],
    ["an empty stream", { text: "", finishReason: null, usage: false }, /empty answer/u, "server_error"],
    ["a connection cut before the first piece", { text: "a b", breakAfter: 0 }, /disconnected/u, "network"],
    ["a connection cut between pieces", { text: "a b", breakAfter: 1 }, /disconnected/u, "network"],
    ["a content filter", { text: "a", finishReason: "content_filter" }, /content filter/u, "request"],
    [
      "a tool call cut off by the limit",
      { toolCalls: [{ name: "t", arguments: '{"a": ' }], finishReason: "length" },
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
    server.reply({ status: 429, retryAfter: 3600 });
    const error = await refusal();
    assert.equal(error.retryAfterMs, 3_600_000);
    assert.match(error.message, /exceeded rate limit or quota \(429\)/u);
    assert.deepEqual(error.details, { kind: "rate_limit", status: 429 });
    assert.equal(server.requests.length, 1);
  });

  it("suggests starting the server if the connection is refused", async () => {
    await server.close();
    assert.match((await refusal()).message, new RegExp(`ECONNREFUSED.*is the server at ${server.url} running\\?`, "u"));
  });

  it("names the setting for an account without an address", async () => {
    account = { name: "acme" };
    assert.match((await refusal()).message, /set models\.providers\.acme\.baseUrl/u);
    account = { name: "acme:work" };
    await assert.rejects(ask(), { message: /set models\.providers\.acme\.accounts\["work"\]\.baseUrl/u });
  });

  it("delivers pieces received before the connection was interrupted", async () => {
    server.reply({ text: "a b", breakAfter: 1 });
    const events: ModelEvent[] = [];
    await assert.rejects(
      async () => {
        for await (const event of provider.stream(request(), account, new AbortController().signal)) events.push(event);
      },
      { code: "UNAVAILABLE" },
    );
    assert.deepEqual(events, [{ type: "text", delta: "a " }]);
  });

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
