/** For plugins that call Claude: thinking levels as fields of its API. Pure. */
import type { ModelRequest, ResolvedModel, ThinkingLevel } from "@svc/sdk/models";

/** Spec: the Messages API of Anthropic; Amazon Bedrock passes `thinking` and `output_config` on. */
export interface ClaudeThinking {
  readonly max_tokens: number;
  readonly thinking?:
    | { readonly type: "adaptive"; readonly display: "summarized" }
    | { readonly type: "enabled"; readonly budget_tokens: number };
  readonly output_config?: { readonly effort: (typeof EFFORTS)[keyof typeof EFFORTS] };
}
type ActiveLevel = Exclude<ThinkingLevel, "off">;

/**
 * Default token limit, because the API requires a limit. Choice: every model since 2024 accepts it; `maxTokens`
 * overrides it.
 */
export const CLAUDE_MAX_TOKENS = 8_192;

/** Choice: thinking budgets in tokens, for models that take a number. Such models cannot do `adaptive`, so it gets the budget of `medium`. */
const BUDGETS: Readonly<Record<ActiveLevel, number>> = {
  minimal: 1_024,
  low: 4_096,
  medium: 10_240,
  high: 20_480,
  xhigh: 32_768,
  adaptive: 10_240,
};

/** Efforts of models with adaptive thinking, which have no level below `low`. */
const EFFORTS = { minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "xhigh" } as const;

/** Smallest budget that the API accepts. */
const MIN_BUDGET = 1_024;

/** Choice: tokens reserved for the answer when it shares a limit with thinking. */
const ANSWER_TOKENS = 1_024;

/**
 * The token limit and the thinking fields. `off`, an absent level and models without `reasoning` send no thinking fields,
 * so the model's default applies.
 */
export function claudeThinking({ model, thinking, messages, options, toolChoice }: ModelRequest): ClaudeThinking {
  const limit = Math.min(options?.maxTokens ?? Infinity, model.maxTokens ?? options?.maxTokens ?? CLAUDE_MAX_TOKENS);
  // The API rejects thinking together with a forced tool call.
  const isForced = typeof toolChoice === "object" || toolChoice === "required";
  if (model.reasoning !== true || thinking === undefined || thinking === "off" || isForced)
    return { max_tokens: limit };
  const level = thinking === "xhigh" && model.xhigh !== true ? "high" : thinking;
  if (takesEffort(model)) return { max_tokens: limit, ...adaptive(level) };
  // With thinking enabled, the API rejects a tool round that began without it.
  return canContinueThinking(model, messages)
    ? budgeted(level, options?.maxTokens === undefined ? model.maxTokens : limit)
    : { max_tokens: limit };
}

function adaptive(level: ActiveLevel): Pick<ClaudeThinking, "thinking" | "output_config"> {
  // Explicit, since some models otherwise hide their thinking.
  const fields = { thinking: { type: "adaptive", display: "summarized" } } as const;
  return level === "adaptive" ? fields : { ...fields, output_config: { effort: EFFORTS[level] } };
}

/** Thinking counts towards the limit: the default limit is raised by the budget, a configured limit caps the budget. */
function budgeted(level: ActiveLevel, maxTokens: number | undefined): ClaudeThinking {
  const limit = maxTokens ?? BUDGETS[level] + CLAUDE_MAX_TOKENS;
  const budget = Math.min(BUDGETS[level], limit - ANSWER_TOKENS);
  if (budget < MIN_BUDGET) return { max_tokens: limit };
  return { max_tokens: limit, thinking: { type: "enabled", budget_tokens: budget } };
}

/**
 * Whether a model uses adaptive thinking with an effort: Claude from 4.6 on, where budgets are deprecated or rejected.
 * Older models, and models of other vendors behind this API, use a budget.
 */
export function takesEffort({ id }: Pick<ResolvedModel, "id">): boolean {
  if (!id.includes("claude-")) return false;
  if (/claude-(?:\d|instant)/u.test(id)) return false; // names before version 4 begin with the number
  const version = /claude-(?:opus|sonnet|haiku)-(\d+)(?:[-.](\d{1,2})(?!\d))?/u.exec(id);
  if (!version) return true; // later model families
  const [, major, minor = "0"] = version;
  return Number(major) > 4 || (Number(major) === 4 && Number(minor) >= 6);
}

/** Whether the last tool calls, if any, were made by this model after a signed thinking block. */
function canContinueThinking(model: ResolvedModel, messages: ModelRequest["messages"]): boolean {
  if (messages.at(-1)?.role !== "toolResult") return true;
  const asked = messages.findLast((message) => message.role === "assistant");
  const [first] = asked?.content ?? [];
  return (
    asked?.api === model.api &&
    asked.model === model.id &&
    first?.type === "thinking" &&
    first.thinkingSignature !== undefined
  );
}
