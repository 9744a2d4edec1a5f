/** What holds for all providers of real servers. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { GatewayError } from "@svc/sdk";
import type { ModelEvent } from "@svc/sdk/models";
import type { FakeModelReply } from "../../../sdk/testing/fake-model-server.ts";
import { apis, KEY, openProvider } from "./apis.ts";

const ANTHROPIC_REFUSALS: Refusal[] = [
  ["an empty account", { status: 400, message: "Your credit balance is too low" }, /payment \(400\)/u, "billing"],
  ["403", { status: 403 }, /refused the key \(403\)/u, "auth"],
  [
    "a context overflow",
    { status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" },
    /too long for "claude-haiku-4-5".*start a new session.*210000 tokens/u,
    "request",
  ],
  ["413", { status: 413 }, /\(413\)/u, "request"],
  ["504", { status: 504 }, /timed out \(504\)/u, "timeout"],
  ["529", { status: 529, message: "Overloaded" }, /failed \(529\): try again later.*Overloaded/u, "server_error"],
  [
    "an error inside the stream",
    { text: "a", errorEvent: { type: "overloaded_error", message: "Overloaded" } },
    /failed: try again later.*Overloaded/u,
    "server_error",
  ],
  ["a stream that just ends", { text: "a", finishReason: null }, /disconnected/u, "network"],
  ["a model that declines", { text: "a", finishReason: "refusal" }, /declined.*rephrase/u, "request"],
];
const OPENAI_REFUSALS: Refusal[] = [
  ["400", { status: 400, message: "too long" }, /did not accept the request \(400\).*too long/u, "request"],
  ["408", { status: 408 }, /\(408\)/u, "timeout"],
  ["an empty stream", { text: "", finishReason: null, usage: false }, /empty answer/u, "server_error"],
  ["a content filter", { text: "a", finishReason: "content_filter" }, /content filter/u, "request"],
];

const RESPONSES_REFUSALS: Refusal[] = [
  ["400", { status: 400, message: "no" }, /did not accept the request \(400\).*no/u, "request"],
  [
    "a conversation that is too long",
    { status: 400, errorType: "context_length_exceeded" },
    /too long for "fake-model".*start a new session/u,
    "request",
  ],
  ["an empty account", { status: 429, errorType: "insufficient_quota" }, /requires payment \(429\)/u, "billing"],
  ["503", { status: 503 }, /failed \(503\)/u, "server_error"],
  [
    "a rate limit inside the stream",
    { text: "a", errorEvent: { type: "rate_limit_exceeded", message: "slow down" } },
    /rate limit.*slow down/u,
    "rate_limit",
  ],
  [
    "a broken prompt inside the stream",
    { text: "a", errorEvent: { type: "invalid_prompt", message: "no such thing" } },
    /did not accept the request.*no such thing/u,
    "request",
  ],
  [
    "a failure inside the stream",
    { text: "a", errorEvent: { type: "server_error", message: "on fire" } },
    /failed: try again later.*on fire/u,
    "server_error",
  ],
  ["a stream that just ends", { text: "a", finishReason: null }, /disconnected in the middle/u, "network"],
  ["a content filter", { text: "a", finishReason: "content_filter" }, /content filter/u, "request"],
];
const GOOGLE_REFUSALS: Refusal[] = [
  ["400", { status: 400, message: "no" }, /did not accept the request \(400\).*no/u, "request"],
  ["a wrong key", { status: 400, errorType: "API_KEY_INVALID" }, /refused the key \(400\).*apiKey/u, "auth"],
  [
    "a conversation that is too long",
    { status: 400, message: "The input token count (1200000) exceeds the maximum number of tokens allowed" },
    /did not accept the request \(400\).*exceeds the maximum/u,
    "request",
  ],
  ["403", { status: 403 }, /refused the key \(403\)/u, "auth"],
  ["a project without billing", { status: 403, errorType: "BILLING_DISABLED" }, /requires payment \(403\)/u, "billing"],
  ["503", { status: 503 }, /failed \(503\)/u, "server_error"],
  ["504", { status: 504 }, /timed out \(504\)/u, "timeout"],
  [
    "an error inside the stream",
    { text: "a", errorEvent: { type: "UNAVAILABLE", message: "overloaded" } },
    /failed: try again later.*overloaded/u,
    "server_error",
  ],
  ["a stream that just ends", { text: "a", finishReason: null }, /disconnected in the middle/u, "network"],
  [
    "an unsafe answer",
    { text: "a", finishReason: "SAFETY" },
    /safety filter considers it harmful; rephrase/u,
    "request",
  ],
  ["a copied answer", { text: "a", finishReason: "RECITATION" }, /repeats existing texts/u, "request"],
  ["a reason of the future", { text: "a", finishReason: "TOO_BLUE" }, /stopped the answer: TOO_BLUE/u, "request"],
  [
    "a fault",
    { text: "a", finishReason: "MALFORMED_FUNCTION_CALL" },
    /malformed tool call; try again/u,
    "server_error",
  ],
];
const BEDROCK_REFUSALS: Refusal[] = [
  ["400", { status: 400, message: "no" }, /did not accept the request \(400\).*no/u, "request"],
  [
    "a conversation that is too long",
    { status: 400, message: "Input is too long for requested model." },
    /did not accept the request \(400\).*Input is too long/u,
    "request",
  ],
  [
    "a quota",
    { status: 400, errorType: "ServiceQuotaExceededException" },
    /rate limit or quota \(400\)/u,
    "rate_limit",
  ],
  ["an expired token", { status: 403, errorType: "ExpiredTokenException" }, /refused the key \(403\)/u, "auth"],
  ["408", { status: 408 }, /timed out \(408\)/u, "timeout"],
  ["a fault of the model", { status: 424 }, /failed \(424\)/u, "server_error"],
  ["a model that warms up", { status: 429, errorType: "ModelNotReadyException" }, /failed \(429\)/u, "server_error"],
  ["503", { status: 503 }, /failed \(503\)/u, "server_error"],
  [
    "a rate limit inside the stream",
    { text: "a", errorEvent: { type: "throttlingException", message: "slow down" } },
    /rate limit.*slow down/u,
    "rate_limit",
  ],
  [
    "a fault inside the stream",
    { text: "a", errorEvent: { type: "modelStreamErrorException", message: "on fire" } },
    /failed: try again later.*on fire/u,
    "server_error",
  ],
  ["a stream that just ends", { text: "a", finishReason: null }, /disconnected/u, "network"],
  ["a guardrail", { text: "a", finishReason: "guardrail_intervened" }, /guardrail of the account/u, "request"],
  ["a content filter", { text: "a", finishReason: "content_filtered" }, /content filter/u, "request"],
  ["a malformed call", { text: "a", finishReason: "malformed_tool_use" }, /malformed tool call/u, "server_error"],
];
const OWN_REFUSALS: Readonly<Record<string, Refusal[]>> = {
  openai: OPENAI_REFUSALS,
  responses: RESPONSES_REFUSALS,
  anthropic: ANTHROPIC_REFUSALS,
  google: GOOGLE_REFUSALS,
  bedrock: BEDROCK_REFUSALS,
};

/** Gemini sends arguments as objects, so that they are neither invalid nor cut off. */
const WHOLE_ARGUMENTS = new Set(["google"]);

const CUT_CALL = (limit: string): Refusal => [
  "a tool call cut off by the limit",
  { toolCalls: [{ name: "t", arguments: '{"a": ' }], finishReason: limit },
  /cut off inside a tool call; increase maxTokens/u,
  "request",
];

const TOOLS = [{ name: "t", description: "Does it", parameters: { type: "object", properties: {} } }];

type Refusal = [why: string, reply: FakeModelReply, message: RegExp, kind: string];

for (const [name, api] of Object.entries(apis)) {
  describe(`provider ${name}`, { timeout: 120_000 }, () => {
    const [header, prefix] = api.keyHeader ?? ["authorization", "Bearer "];
    let scene: Awaited<ReturnType<typeof openProvider>>;
    beforeEach(async () => (scene = await openProvider(api)));
    afterEach(() => scene.server.close());

    /** The error of a request; asserts that it is one and contains no key. */
    async function refusal(): Promise<GatewayError> {
      const error = await scene.ask({ tools: TOOLS }).then(
        () => assert.fail("it answered"),
        (thrown: GatewayError) => thrown,
      );
      assert.equal(error.code, "UNAVAILABLE");
      assert.match(error.message, /model provider "acme"/u);
      assert.equal(error.cause, undefined);
      assert.doesNotMatch(JSON.stringify([error.message, error.details]) + String(error.stack), new RegExp(KEY, "u"));
      return error;
    }

    it("streams text, then finish with usage, cache included", async () => {
      const [wire, usage] = api.usage;
      scene.server.reply({ pieces: ["Hel", "lo"], usage: wire });
      const events = await scene.ask();
      assert.equal(events.map((event) => (event.type === "text" ? event.delta : "")).join(""), "Hello");
      assert.deepEqual(events.at(-1), { type: "finish", reason: "stop", usage });
      assert.equal(scene.server.requests[0]?.headers[header], prefix + KEY);
    });

    it("reports that the token limit ended the answer, and no usage when the server sends none", async () => {
      scene.server.reply({ text: "hi", usage: false, finishReason: api.limit });
      assert.deepEqual((await scene.ask()).at(-1), { type: "finish", reason: "length" });
    });

    it("passes invalid arguments on, so that the model gets an error", async () => {
      const args = WHOLE_ARGUMENTS.has(name) ? "7" : "{oops";
      scene.server.reply({ toolCalls: [{ name: "t", arguments: args }], usage: false });
      const [first] = await scene.ask({ tools: TOOLS });
      assert.deepEqual(first, { type: "toolCall", id: "call_1", name: "t", arguments: { invalidJson: args } });
    });

    const refusals: Refusal[] = [
      [
        "401",
        { status: 401, message: `bad key ${KEY}` },
        /\(401\): check models\.providers\.acme\.apiKey.*bad key \*\*\*/u,
        "auth",
      ],
      ["402", { status: 402 }, /requires payment \(402\)/u, "billing"],
      ["404", { status: 404 }, new RegExp(`does not know the model "${api.model.id}" \\(404\\)`, "u"), "request"],
      ["500", { status: 500, message: "on fire" }, /failed \(500\): try again later.*on fire/u, "server_error"],
      ["a malformed stream", { text: "a", malformed: true }, /invalid JSON/u, "server_error"],
      ["a connection cut before the first piece", { text: "a b", breakAfter: 0 }, /disconnected/u, "network"],
      ["a connection cut between pieces", { text: "a b", breakAfter: 1 }, /disconnected/u, "network"],
      ...(WHOLE_ARGUMENTS.has(name) ? [] : [CUT_CALL(api.limit)]),
      ...(OWN_REFUSALS[name] ?? []),
    ];
    for (const [why, reply, message, kind] of refusals) {
      it(`refuses ${why} with a sentence and the kind ${kind}, without trying again`, async () => {
        scene.server.reply(reply);
        const { message: sentence, details } = await refusal();
        assert.match(sentence, message);
        assert.deepEqual(details, { kind, ...(reply.status === undefined ? {} : { status: reply.status }) });
        assert.equal(scene.server.requests.length, 1);
      });
    }

    it("reports the retry delay of the server", async () => {
      scene.server.reply({ status: 429, retryAfter: 3600 });
      const { message, retryAfterMs, details } = await refusal();
      assert.deepEqual([retryAfterMs, details], [3_600_000, { kind: "rate_limit", status: 429 }]);
      assert.match(message, /\(429\)/u);
    });

    it("suggests starting the server if the connection is refused", async () => {
      await scene.server.close();
      const { message, details } = await refusal();
      assert.match(message, new RegExp(`ECONNREFUSED.*is the server at ${scene.server.url}/? running\\?`, "u"));
      assert.deepEqual(details, { kind: "network" });
    });

    it("uses a changed account from the next request on, with its headers", async () => {
      await scene.ask();
      scene.account = { ...scene.account, apiKey: "another-key", headers: { "x-team": "blue" } };
      await scene.ask();
      assert.deepEqual(
        scene.server.requests.map(({ headers }) => [headers[header], headers["x-team"]]),
        [
          [prefix + KEY, undefined],
          [`${prefix}another-key`, "blue"],
        ],
      );
    });

    it("delivers pieces received before the connection was interrupted", async () => {
      scene.server.reply({ text: "a b", breakAfter: 1 });
      const events: ModelEvent[] = [];
      await assert.rejects(
        async () => {
          for await (const event of scene.stream()) events.push(event);
        },
        { code: "UNAVAILABLE" },
      );
      assert.deepEqual(events, [{ type: "text", delta: "a " }]);
    });

    it("aborts a hanging answer and closes the server's socket", async () => {
      scene.server.reply({ text: "a b", hangAfter: 1 });
      const abort = new AbortController();
      const events = scene.stream(abort.signal)[Symbol.asyncIterator]();
      assert.deepEqual(await events.next(), { done: false, value: { type: "text", delta: "a " } });
      const pending = events.next();
      const reason = new Error("stop it");
      abort.abort(reason);
      await assert.rejects(pending, reason);
      await scene.server.requests[0]?.closed;
      assert.equal(scene.server.requests[0]?.aborted, true);
    });

    it("sends no request if already aborted", async () => {
      await assert.rejects(scene.ask({}, AbortSignal.abort(new Error("too late"))), { message: "too late" });
      assert.equal(scene.server.requests.length, 0);
    });

    it("closes the server's socket when the reader stops reading", async () => {
      scene.server.reply({ text: "a b", hangAfter: 1 });
      for await (const event of scene.stream()) {
        assert.equal(event.type, "text");
        break;
      }
      await scene.server.requests[0]?.closed;
      assert.equal(scene.server.requests[0]?.aborted, true);
    });
  });
}
