/** Wire format of answers. Spec: http/chat-completions.md §5, §6 and §9. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnswerStep } from "@svc/kit/runs";
import type { RunOutcome } from "@svc/sdk/agents";
import { completion, createFrames, DONE } from "../../../plugins/http-chat/frames.ts";
import { answerOf, failureOfRun } from "../../../plugins/http-chat/outcome.ts";
import { failureReply } from "../../../plugins/http-chat/refusals.ts";
import { streamAnswer } from "../../../plugins/http-chat/stream.ts";
import { chunkIn } from "./scene.ts";

const head = { id: "chatcmpl_1", created: 7, model: 'svc"\n' };
const outcome = (fields: Partial<RunOutcome> = {}): RunOutcome => ({
  runId: "r",
  sessionKey: "s",
  status: "ok",
  endedAt: 1,
  text: "",
  ...fields,
});
const usage = { input: 10, output: 5, cacheRead: 100, cacheWrite: 7, totalTokens: 0 };
const calls = [{ type: "toolCall" as const, id: "a", name: "weather", arguments: { city: "Ulm" } }];

describe("frames", () => {
  for (const text of ["hi", 'a "quote"\n\nand \u2028 more', "\ud83d", "data: [DONE]", ""]) {
    it(`carry ${JSON.stringify(text)} as it is`, () => {
      const frame = createFrames(head, false).text(text);
      assert.ok(frame.endsWith("\n\n") && !frame.slice(0, -2).includes("\n"));
      const chunk = chunkIn(frame.trimEnd());
      assert.deepEqual(chunk, {
        ...head,
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta: { content: text }, finish_reason: null }],
      });
    });
  }

  it("of the end are calls, the reason, usage and the end, in one text", () => {
    const answer = answerOf(outcome({ pendingCalls: calls, stopReason: "toolUse", usage }));
    const parts = createFrames(head, true).end(answer).split("\n\n");
    assert.deepEqual(parts.slice(-2), ["data: [DONE]", ""]);
    const [called, last, used] = parts.map((part, index) => (index < 3 ? chunkIn(part) : undefined));
    assert.deepEqual(called?.choices[0]?.delta, {
      tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "weather", arguments: '{"city":"Ulm"}' } }],
    });
    assert.deepEqual([called?.usage, last?.usage], [null, null]);
    assert.deepEqual(last?.choices, [{ index: 0, delta: {}, finish_reason: "tool_calls" }]);
    assert.deepEqual(
      [used?.choices, used?.usage],
      [
        [],
        {
          prompt_tokens: 117,
          completion_tokens: 5,
          total_tokens: 122,
          prompt_tokens_details: { cached_tokens: 100 },
        },
      ],
    );
    assert.equal(createFrames(head, false).end(answer).includes("usage"), false);
  });

  it("and whole answers say null for no text beside calls", () => {
    const body = completion(head, answerOf(outcome({ pendingCalls: calls }))) as {
      choices: { message: { content: unknown } }[];
    };
    assert.equal(body.choices[0]?.message.content, null);
  });
});

describe("how a run ended", () => {
  const rows: [fields: Partial<RunOutcome>, status: number, type: string, code: string, mayRepeat: boolean][] = [
    [{ status: "error", errorMessage: "no" }, 500, "api_error", "run_failed", false],
    [{ status: "error", retryable: true, calledTools: false }, 503, "unavailable", "unavailable", true],
    [{ status: "error", retryable: true, calledTools: true }, 503, "unavailable", "unavailable", false],
    [{ status: "error", retryable: true }, 503, "unavailable", "unavailable", false],
    [{ status: "aborted", abortReason: "timeout" }, 504, "timeout", "timeout", false],
    [{ status: "aborted", abortReason: "restart" }, 503, "unavailable", "unavailable", true],
    [{ status: "aborted", abortReason: "restart", startedAt: 1 }, 503, "unavailable", "unavailable", false],
    [{ status: "aborted", abortReason: "rpc" }, 409, "conflict", "run_stopped", false],
  ];
  for (const [fields, status, type, code, mayRepeat] of rows) {
    it(`${JSON.stringify(fields)} is ${status}`, () => {
      const failure = failureOfRun(outcome(fields));
      assert.ok(failure);
      assert.deepEqual(
        [failure.status, failure.error.type, failure.error.code, failure.mayRepeat],
        [status, type, code, mayRepeat],
      );
      const { headers } = failureReply(failure);
      assert.equal(headers?.["x-should-retry"], String(mayRepeat));
      assert.equal("Retry-After" in (headers ?? {}), status === 503);
    });
  }
});

describe("a stream", () => {
  async function* steps(...all: AnswerStep[]): AsyncGenerator<AnswerStep, void, undefined> {
    yield* all;
  }
  const text = (delta: string): AnswerStep => ({ type: "text", delta });
  const end = (fields: Partial<RunOutcome>): AnswerStep => ({ type: "end", outcome: outcome(fields) });
  const told = async (source: AsyncGenerator<AnswerStep, void, undefined>) => {
    let all = "";
    for await (const piece of streamAnswer(source, createFrames(head, false))) all += piece;
    assert.ok(all.endsWith(DONE));
    const chunks = all.split("\n\n").slice(0, -2).map(chunkIn);
    return chunks.map(
      ({ choices: [choice], error }) => error?.code ?? choice?.delta.content ?? choice?.finish_reason ?? "",
    );
  };

  const rows: [what: string, all: AnswerStep[], expected: string[]][] = [
    ["text", [text("a"), text("b"), end({ text: "ab" })], ["", "a", "b", "stop"]],
    ["what the gateway says at the end", [end({ text: "summed up" })], ["", "summed up", "stop"]],
    ["silence", [text("NO_"), text("REPLY"), end({ text: "NO_REPLY" })], ["", "No response from svc.", "stop"]],
    ["an error after text", [text("a"), end({ status: "error" })], ["", "a", "run_failed"]],
    ["the gateway's end", [text("a")], ["", "a", "unavailable"]],
  ];
  for (const [what, all, expected] of rows)
    it(`is ${what}`, async () => assert.deepEqual(await told(steps(...all)), expected));

  it("that is returned from at its first word returns from its steps", async () => {
    let isOver = false;
    async function* endless(): AsyncGenerator<AnswerStep, void, undefined> {
      try {
        for (;;) yield text("a");
      } finally {
        isOver = true;
      }
    }
    const stream = streamAnswer(endless(), createFrames(head, false));
    await stream.next();
    await stream.return();
    await Promise.resolve();
    assert.ok(isOver);
  });
});
