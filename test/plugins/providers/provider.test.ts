/** What holds for both providers of real servers. */
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

type Refusal = [why: string, reply: FakeModelReply, message: RegExp, kind: string];

for (const [name, api] of Object.entries(apis)) {
  describe(`provider ${name}`, { timeout: 120_000 }, () => {
    let scene: Awaited<ReturnType<typeof openProvider>>;
    beforeEach(async () => (scene = await openProvider(api)));
    afterEach(() => scene.server.close());

    /** The error of a request; asserts that it is one and contains no key. */
    async function refusal(): Promise<GatewayError> {
      const error = await scene.ask().then(
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
      const [wire, usage] = api.usage;
      scene.server.reply({ pieces: ["Hel", "lo"], usage: wire });
      assert.deepEqual(await scene.ask(), [
        { type: "text", delta: "Hel" },
        { type: "text", delta: "lo" },
        { type: "finish", reason: "stop", usage },
      ]);
      assert.equal(scene.server.requests[0]?.headers.authorization, `Bearer ${KEY}`);
    });

    it("reports that the token limit ended the answer, and no usage when the server sends none", async () => {
      scene.server.reply({ text: "hi", usage: false, finishReason: api.limit });
      assert.deepEqual((await scene.ask()).at(-1), { type: "finish", reason: "length" });
    });

    it("passes invalid JSON arguments on, so that the model gets an error", async () => {
      scene.server.reply({ toolCalls: [{ name: "t", arguments: "{oops" }], usage: false });
      const [first] = await scene.ask();
      assert.deepEqual(first, { type: "toolCall", id: "call_1", name: "t", arguments: { invalidJson: "{oops" } });
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
      [
        "a tool call cut off by the limit",
        { toolCalls: [{ name: "t", arguments: '{"a": ' }], finishReason: api.limit },
        /cut off inside a tool call; increase maxTokens/u,
        "request",
      ],
      ...(name === "openai" ? OPENAI_REFUSALS : ANTHROPIC_REFUSALS),
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
      assert.match(message, new RegExp(`ECONNREFUSED.*is the server at ${scene.server.url} running\\?`, "u"));
      assert.deepEqual(details, { kind: "network" });
    });

    it("uses a changed account from the next request on, with its headers", async () => {
      await scene.ask();
      scene.account = { ...scene.account, apiKey: "another-key", headers: { "x-team": "blue" } };
      await scene.ask();
      assert.deepEqual(
        scene.server.requests.map(({ headers }) => [headers.authorization, headers["x-team"]]),
        [
          [`Bearer ${KEY}`, undefined],
          ["Bearer another-key", "blue"],
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
