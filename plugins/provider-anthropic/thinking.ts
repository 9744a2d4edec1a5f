/** How hard a model is told to think, in the words of the Messages API. Pure. */
import type { ModelRequest, ResolvedModel, ThinkingLevel } from "@svc/sdk/models";
import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";

type Fields = Pick<MessageCreateParamsStreaming, "max_tokens" | "thinking" | "output_config">;
type ActiveLevel = Exclude<ThinkingLevel, "off">;

/** The API insists on a limit. Choice: one that every model since 2024 accepts; `maxTokens` of the model raises it. */
export const DEFAULT_MAX_TOKENS = 8_192;

/** Tokens a model may think, for those that take a number. Choice. `adaptive`: they cannot decide, so a middle one. */
const BUDGETS: Readonly<Record<ActiveLevel, number>> = {
  minimal: 1_024,
  low: 4_096,
  medium: 10_240,
  high: 20_480,
  xhigh: 32_768,
  adaptive: 10_240,
};

/** For models that decide themselves. They know no level below `low`. */
const EFFORTS = { minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "xhigh" } as const;

/** Smallest budget the API takes. */
const MIN_BUDGET = 1_024;

/** Tokens that are kept for the answer when a limit is shared with thinking. Choice. */
const ANSWER_TOKENS = 1_024;

/**
 * The token limit and the thinking fields. `off`, an absent level and models without `reasoning` send none: the
 * model's default holds.
 */
export function thinkingFields({ model, thinking, messages, options, toolChoice }: ModelRequest): Fields {
  const limit = Math.min(options?.maxTokens ?? Infinity, model.maxTokens ?? options?.maxTokens ?? DEFAULT_MAX_TOKENS);
  // The API refuses thought beside a call that is demanded.
  const isForced = typeof toolChoice === "object" || toolChoice === "required";
  if (model.reasoning !== true || thinking === undefined || thinking === "off" || isForced)
    return { max_tokens: limit };
  const level = thinking === "xhigh" && model.xhigh !== true ? "high" : thinking;
  if (takesEffort(model)) return { max_tokens: limit, ...adaptive(level) };
  // A model that is told to think refuses a tool round that it began without thinking.
  return canContinueThinking(model, messages)
    ? budgeted(level, options?.maxTokens === undefined ? model.maxTokens : limit)
    : { max_tokens: limit };
}

function adaptive(level: ActiveLevel): Pick<Fields, "thinking" | "output_config"> {
  // Asked for, because some models hide what they think otherwise.
  const fields = { thinking: { type: "adaptive", display: "summarized" } } as const;
  return level === "adaptive" ? fields : { ...fields, output_config: { effort: EFFORTS[level] } };
}

/** Thinking counts towards the limit, so an unknown limit grows by it and a known one bounds it. */
function budgeted(level: ActiveLevel, maxTokens: number | undefined): Fields {
  const limit = maxTokens ?? BUDGETS[level] + DEFAULT_MAX_TOKENS;
  const budget = Math.min(BUDGETS[level], limit - ANSWER_TOKENS);
  if (budget < MIN_BUDGET) return { max_tokens: limit };
  return { max_tokens: limit, thinking: { type: "enabled", budget_tokens: budget } };
}

/**
 * Whether a model decides itself how long to think, guided by an effort: Claude from 4.6 on, which refuses a budget
 * sooner or later. Older ones, and models of other makers behind this API, take a budget.
 */
export function takesEffort({ id }: Pick<ResolvedModel, "id">): boolean {
  if (!id.includes("claude-")) return false;
  if (/claude-(?:\d|instant)/u.test(id)) return false; // names before 4 begin with the number
  const version = /claude-(?:opus|sonnet|haiku)-(\d+)(?:[-.](\d{1,2})(?!\d))?/u.exec(id);
  if (!version) return true; // later lines
  const [, major, minor = "0"] = version;
  return Number(major) > 4 || (Number(major) === 4 && Number(minor) >= 6);
}

/** Whether the calls whose results come last were made by this model after a signed thought, or there are none. */
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
