import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AnswerSize, AT_WORK } from "@svc/kit/providers";
import type { ModelEvent } from "@svc/sdk/models";
import type { ChatCompletionChunk } from "openai/resources/chat/completions";
import { createAnswer, DONE } from "../../../plugins/provider-openai/answer.ts";

/** Model events for `deltas` and a finish reason; chunks as real servers send them, regardless of the types. */
function answerOf(
  deltas: readonly object[],
  reason: string | null = "stop",
  last: object = {},
  ends: readonly (typeof DONE)[] = [DONE],
): ModelEvent[] {
  let ids = 0;
  const source = 'model provider "acme"';
  const answer = createAnswer(source, () => `made-${++ids}`, new AnswerSize(source, { maxAnswerChars: 1_000 }));
  const chunks: (object | typeof DONE)[] = [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: reason }], ...last },
    ...ends,
  ];
  const events = chunks.flatMap((chunk) => answer.take(chunk as unknown as ChatCompletionChunk));
  return [...events.filter((event) => event !== AT_WORK), ...answer.end()];
}

const call = (fields: object, fn: object) => ({ tool_calls: [{ ...fields, function: fn }] });

describe("answer", () => {
  const rows: [why: string, deltas: object[], calls: object[]][] = [
    [
      "fragments of two calls, mixed",
      [
        call({ index: 0, id: "a" }, { name: "x", arguments: "" }),
        call({ index: 1, id: "b" }, { name: "y", arguments: '{"n"' }),
        call({ index: 0 }, { arguments: "{}" }),
        call({ index: 1 }, { arguments: ":1}" }),
      ],
      [
        { id: "a", name: "x", arguments: {} },
        { id: "b", name: "y", arguments: { n: 1 } },
      ],
    ],
    [
      "one index for two calls",
      [
        call({ index: 0, id: "a" }, { name: "x", arguments: "{}" }),
        call({ index: 0, id: "b" }, { name: "y", arguments: "{}" }),
      ],
      [
        { id: "a", name: "x", arguments: {} },
        { id: "b", name: "y", arguments: {} },
      ],
    ],
    [
      "the id and name again in each fragment",
      [
        call({ index: 0, id: "a" }, { name: "x", arguments: '{"n":' }),
        call({ index: 0, id: "a" }, { name: "x", arguments: "2}" }),
      ],
      [{ id: "a", name: "x", arguments: { n: 2 } }],
    ],
    ["no id", [call({ index: 0 }, { name: "x", arguments: "{}" })], [{ id: "made-1", name: "x", arguments: {} }]],
    ["no arguments", [call({ index: 0, id: "a" }, { name: "x" })], [{ id: "a", name: "x", arguments: {} }]],
    [
      "arguments that are not JSON",
      [call({ index: 0, id: "a" }, { name: "x", arguments: "{n: 1" })],
      [{ id: "a", name: "x", arguments: { invalidJson: "{n: 1" } }],
    ],
    [
      "arguments that are no object",
      [call({ index: 0, id: "a" }, { name: "x", arguments: "[1]" })],
      [{ id: "a", name: "x", arguments: { invalidJson: "[1]" } }],
    ],
  ];
  for (const [why, deltas, calls] of rows) {
    it(`assembles tool calls with ${why}`, () => {
      const wanted = calls.map((fields) => ({ type: "toolCall", ...fields }));
      assert.deepEqual(answerOf(deltas), [...wanted, { type: "finish", reason: "toolUse" }]);
    });
  }

  it("accepts text without a finish reason", () => {
    const wanted = [
      { type: "text", delta: "hi" },
      { type: "finish", reason: "stop" },
    ];
    assert.deepEqual(answerOf([{ content: "hi" }], null), wanted);
  });

  it("refuses text with neither a finish reason nor the end marker", () => {
    const message = /disconnected in the middle of its answer/u;
    assert.throws(() => answerOf([{ content: "half a sen" }], null, {}, []), { code: "UNAVAILABLE", message });
  });

  it("refuses tool calls above the answer limit, by arguments or by number", () => {
    const long = [
      call({ index: 0, id: "a" }, { name: "x" }),
      ...Array(9).fill(call({ index: 0 }, { arguments: "1".repeat(200) })),
    ];
    const many = Array.from({ length: 20 }, (_, index) => call({ index, id: `id-${index}` }, { name: "x" }));
    for (const deltas of [long, many]) {
      assert.throws(() => answerOf(deltas), {
        code: "UNAVAILABLE",
        message: /was cut: it has more than 1000 characters/u,
      });
    }
  });

  it("accepts an empty answer with a finish reason", () => {
    assert.deepEqual(answerOf([]), [{ type: "finish", reason: "stop" }]);
  });

  it("reads thinking under its other name, and a refusal as text", () => {
    assert.deepEqual(answerOf([{ reasoning: "hm" }, { refusal: "no" }]).slice(0, 2), [
      { type: "thinking", delta: "hm" },
      { type: "text", delta: "no" },
    ]);
  });

  it("computes a missing total", () => {
    const usage = { input: 3, output: 4, cacheRead: 0, cacheWrite: 0, totalTokens: 7 };
    const events = answerOf([], "stop", { usage: { prompt_tokens: 3, completion_tokens: 4 } });
    assert.deepEqual(events, [{ type: "finish", reason: "stop", usage }]);
  });

  for (const nothing of [{}, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }]) {
    it(`has no usage for ${JSON.stringify(nothing)}`, () =>
      assert.deepEqual(answerOf([], "stop", { usage: nothing }), [{ type: "finish", reason: "stop" }]));
  }

  it("computes the prompt from the total if only that is reported", () => {
    const usage = { input: 5, output: 4, cacheRead: 0, cacheWrite: 0, totalTokens: 9 };
    const events = answerOf([], "stop", { usage: { completion_tokens: 4, total_tokens: 9 } });
    assert.deepEqual(events, [{ type: "finish", reason: "stop", usage }]);
  });

  it("tolerates chunks without choices or delta", () => {
    const answer = createAnswer("x", () => "id", new AnswerSize("x", {}));
    for (const chunk of [{}, { choices: [] }, { choices: [{}] }]) {
      assert.deepEqual(answer.take(chunk as unknown as ChatCompletionChunk), []);
    }
  });

  it("refuses a tool call that was interrupted", () => {
    const deltas = [call({ index: 0, id: "a" }, { name: "x", arguments: '{"n"' })];
    assert.throws(() => answerOf(deltas, null), { code: "UNAVAILABLE", message: /disconnected inside a tool call/u });
  });
});
