/** The events of a stream: complete, in order, numbered. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RunOutcome } from "@svc/sdk/agents";
import { createEventWriter } from "../../../plugins/http-responses/events.ts";
import { readRequest } from "../../../plugins/http-responses/request.ts";
import { endingOf, responseBase } from "../../../plugins/http-responses/response.ts";
import { eventsIn } from "./scene.ts";

const base = responseBase("u", readRequest({ model: "m", input: "hi", user: "ada" }), 5_999);
const outcome = (more: Partial<RunOutcome>): RunOutcome => ({
  runId: "resp_u",
  sessionKey: "k",
  status: "ok",
  endedAt: 1,
  text: "",
  ...more,
});
const call = (id: string) => ({ type: "toolCall", id, name: "f", arguments: { a: 1 } }) as const;

function stream(deltas: readonly string[], end: Partial<RunOutcome>) {
  const writer = createEventWriter(base);
  const text =
    writer.begin() + deltas.map((delta) => writer.text(delta)).join("") + writer.end(endingOf(base, outcome(end)));
  const events = eventsIn(text);
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, index) => index),
  );
  return events;
}
const typesOf = (events: ReturnType<typeof stream>) =>
  events.map(
    ({ type, output_index }) => type.replace("response.", "") + (output_index === undefined ? "" : ` ${output_index}`),
  );

const OPEN = ["created", "in_progress"];
const MESSAGE = ["output_item.added 0", "content_part.added 0"];
const DELTA = "output_text.delta 0";
const CLOSED = ["output_text.done 0", "content_part.done 0", "output_item.done 0"];
const called = (index: number) =>
  ["output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"].map(
    (type) => `${type} ${index}`,
  );

describe("the events of a response", () => {
  const rows: readonly [what: string, deltas: readonly string[], end: Partial<RunOutcome>, types: readonly string[]][] =
    [
      ["that says something", ["a", "b"], { text: "ab" }, [...OPEN, ...MESSAGE, DELTA, DELTA, ...CLOSED, "completed"]],
      ["whose text comes at the end", [], { text: "ab" }, [...OPEN, ...MESSAGE, DELTA, ...CLOSED, "completed"]],
      [
        "whose last words come at the end",
        ["a"],
        { text: "ab" },
        [...OPEN, ...MESSAGE, DELTA, DELTA, ...CLOSED, "completed"],
      ],
      ["that says nothing", [], {}, [...OPEN, ...MESSAGE, DELTA, ...CLOSED, "completed"]],
      [
        "that calls tools",
        [],
        { pendingCalls: [call("1"), call("2")] },
        [...OPEN, ...called(0), ...called(1), "completed"],
      ],
      [
        "that speaks and calls",
        ["a"],
        { text: "a", pendingCalls: [call("1")] },
        [...OPEN, ...MESSAGE, DELTA, ...CLOSED, ...called(1), "completed"],
      ],
      [
        "that is cut off",
        ["a"],
        { text: "a", stopReason: "length" },
        [...OPEN, ...MESSAGE, DELTA, ...CLOSED, "incomplete"],
      ],
      ["that is cut off before a word", [], { stopReason: "length" }, [...OPEN, "incomplete"]],
      ["that fails", ["a"], { status: "error", text: "a", errorMessage: "no" }, [...OPEN, ...MESSAGE, DELTA, "failed"]],
      ["that fails at once", [], { status: "error", errorMessage: "no" }, [...OPEN, "failed"]],
      ["that is stopped", [], { status: "aborted", abortReason: "rpc" }, [...OPEN, "failed"]],
    ];
  for (const [what, deltas, end, types] of rows) it(what, () => assert.deepEqual(typesOf(stream(deltas, end)), types));

  it("say that nothing was said", () => {
    const told = stream(["NO_REPLY"], { text: "NO_REPLY" }).flatMap(({ delta }) => delta ?? []);
    assert.deepEqual(told, ["No response from svc."]);
  });

  it("tell what they are about", () => {
    const events = stream(['say "é"\n'], { text: 'say "é"\n', pendingCalls: [call("c")] });
    const at = (type: string) => events.filter((event) => event.type === `response.${type}`);
    const [created] = at("created");
    assert.deepEqual([created?.response.status, created?.response.output], ["in_progress", []]);
    assert.equal(created?.response.usage.total_tokens, 0);
    const [message, tool] = at("output_item.added");
    assert.deepEqual(message?.item, {
      type: "message",
      id: "msg_u",
      role: "assistant",
      status: "in_progress",
      content: [],
    });
    const item = { type: "function_call", id: "fc_u_0", call_id: "c", name: "f" };
    assert.deepEqual(tool?.item, { ...item, arguments: "", status: "in_progress" });
    assert.equal(at("output_text.delta")[0]?.delta, 'say "é"\n');
    assert.equal(at("function_call_arguments.done")[0]?.arguments, '{"a":1}');
    const final = at("completed")[0]?.response ?? assert.fail();
    const done = at("output_item.done").map((event) => event.item);
    assert.deepEqual(final.output, done);
    assert.deepEqual([final.created_at, final.user, final.status], [5, "ada", "completed"]);
  });
});

describe("the end of a response", () => {
  const usage = { input: 5, output: 2, cacheRead: 3, cacheWrite: 1, totalTokens: 11 };
  it("has the provider's total, else the sum, and nothing below zero", () => {
    const total = (more: object) =>
      endingOf(base, outcome({ text: "a", usage: { ...usage, ...more } })).response["usage"];
    const counted = {
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 3, cache_write_tokens: 1 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 11,
    };
    assert.deepEqual(total({}), counted);
    assert.deepEqual(total({ totalTokens: 40 }), { ...counted, total_tokens: 40 });
    assert.deepEqual(total({ totalTokens: 0 }), counted);
    assert.deepEqual(total({ output: -2, totalTokens: -4 }), { ...counted, output_tokens: 0, total_tokens: 9 });
  });

  const reasons: readonly [end: Partial<RunOutcome>, message: string][] = [
    [{ status: "error", errorMessage: "too hot" }, "too hot"],
    [{ status: "aborted", abortReason: "timeout" }, "the run exceeded its time limit"],
    [{ status: "aborted", abortReason: "restart" }, "the gateway stopped before the run ended"],
    [{ status: "aborted", abortReason: "rpc" }, "the run was stopped"],
  ];
  for (const [end, message] of reasons) {
    it(`says: ${message}`, () => {
      const { response } = endingOf(base, outcome(end));
      const { status, output, error } = response;
      assert.deepEqual(
        { status, output, error },
        { status: "failed", output: [], error: { code: "server_error", message } },
      );
    });
  }

  it("says why it is incomplete", () => {
    const { response } = endingOf(base, outcome({ text: "a", stopReason: "length" }));
    assert.deepEqual(
      [response.status, response["incomplete_details"]],
      ["incomplete", { reason: "max_output_tokens" }],
    );
  });
});
