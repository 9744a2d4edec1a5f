import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CLAUDE_MAX_TOKENS, claudeThinking, takesEffort } from "@svc/kit/providers";
import type { Message, ModelRequest, ThinkingLevel } from "@svc/sdk/models";

const model = { provider: "acme", id: "claude-haiku-4-5", name: "X", api: "anthropic-messages", reasoning: true };

function fields(thinking: ThinkingLevel | undefined, changes: object = {}, messages: readonly Message[] = []): object {
  const request = { model: { ...model, ...changes }, system: "", messages, tools: [] };
  return claudeThinking(thinking === undefined ? request : ({ ...request, thinking } satisfies ModelRequest));
}

const budget = (tokens: number, max = tokens + CLAUDE_MAX_TOKENS) => ({
  max_tokens: max,
  thinking: { type: "enabled", budget_tokens: tokens },
});
const adaptive = (effort?: string) => ({
  max_tokens: CLAUDE_MAX_TOKENS,
  thinking: { type: "adaptive", display: "summarized" },
  ...(effort === undefined ? {} : { output_config: { effort } }),
});

describe("thinking levels", () => {
  const none = { max_tokens: CLAUDE_MAX_TOKENS };
  const rows: [level: ThinkingLevel | undefined, budgeted: object, decided: object][] = [
    [undefined, none, none],
    ["off", none, none],
    ["minimal", budget(1_024), adaptive("low")],
    ["low", budget(4_096), adaptive("low")],
    ["medium", budget(10_240), adaptive("medium")],
    ["high", budget(20_480), adaptive("high")],
    ["xhigh", budget(20_480), adaptive("high")],
    ["adaptive", budget(10_240), adaptive()],
  ];
  for (const [level, budgeted, decided] of rows) {
    it(`${level} is a budget for older models and an effort for newer ones`, () => {
      assert.deepEqual(fields(level), budgeted);
      assert.deepEqual(fields(level, { id: "claude-opus-4-7" }), decided);
    });
  }

  it("xhigh differs from high only for models that support it", () => {
    assert.deepEqual(fields("xhigh", { xhigh: true }), budget(32_768));
    assert.deepEqual(fields("xhigh", { xhigh: true, id: "claude-opus-5" }), adaptive("xhigh"));
  });

  it("are ignored for a model without reasoning", () => {
    assert.deepEqual(fields("high", { reasoning: false }), none);
  });

  const limits: [max: number, wanted: object][] = [
    [64_000, budget(20_480, 64_000)],
    [8_000, budget(6_976, 8_000)],
    [2_048, budget(1_024, 2_048)],
    [2_047, { max_tokens: 2_047 }],
  ];
  for (const [maxTokens, wanted] of limits) {
    it(`stay below a limit of ${maxTokens} tokens`, () => assert.deepEqual(fields("high", { maxTokens }), wanted));
  }

  const asked = (content: Extract<Message, { role: "assistant" }>["content"], model: string): Message[] => [
    { role: "user", content: [], timestamp: 1 },
    {
      role: "assistant",
      content,
      api: "anthropic-messages",
      provider: "acme",
      model,
      stopReason: "toolUse",
      timestamp: 1,
    },
    { role: "toolResult", toolCallId: "1", toolName: "t", content: [], isError: false, timestamp: 1 },
  ];
  const call = { type: "toolCall", id: "1", name: "t", arguments: {} } as const;
  const signed = { type: "thinking", thinking: "hm", thinkingSignature: "s" } as const;
  const rounds: [why: string, messages: Message[], thinks: boolean][] = [
    ["that it began with a signed thought", asked([signed, call], model.id), true],
    ["that it began without thinking", asked([call], model.id), false],
    ["that another model began", asked([signed, call], "other"), false],
    ["that is over", asked([call], model.id).slice(0, 2), true],
  ];
  for (const [why, messages, thinks] of rounds) {
    it(`${thinks ? "apply" : "do not apply"} in a tool round ${why}`, () => {
      assert.equal("thinking" in fields("low", {}, messages), thinks);
    });
  }
});

describe("models with an effort", () => {
  const rows: [id: string, takes: boolean][] = [
    ["claude-3-7-sonnet-20250219", false],
    ["claude-instant-1", false],
    ["claude-opus-4-20250514", false],
    ["claude-opus-4-1-20250805", false],
    ["claude-sonnet-4-5", false],
    ["claude-haiku-4-5-20251001", false],
    ["claude-opus-4-6", true],
    ["anthropic/claude-opus-4.8", true],
    ["claude-sonnet-5", true],
    ["claude-haiku-5-5", true],
    ["claude-fable-5-2", true],
    ["another-model", false],
  ];
  for (const [id, takes] of rows)
    it(`${takes ? "are" : "are not"} ${id}`, () => assert.equal(takesEffort({ id }), takes));
});
