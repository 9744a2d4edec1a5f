/** What a run came to, in the words of the public API. Pure. Spec: http/chat-completions.md §5, §7 and §9. */
import { spokenText } from "@svc/kit/runs";
import type { RunOutcome } from "@svc/sdk/agents";
import type { ToolCallBlock, Usage } from "@svc/sdk/models";
import type { Failure } from "./refusals.ts";

export type FinishReason = "stop" | "length" | "tool_calls";

/** An answer that is over. */
export interface Answer {
  /** Empty: nothing was said beside the calls. */
  readonly text: string;
  readonly calls: readonly ToolCallBlock[];
  readonly finish: FinishReason;
  readonly usage: WireUsage | undefined;
}

export interface WireUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

/** Spec: §5; what an agent that says nothing is quoted with. */
const NO_TEXT = "No response from svc.";

/** Of a run with status `ok`. */
export function answerOf({ text, pendingCalls: calls = [], stopReason, usage }: RunOutcome): Answer {
  const finish = calls.length > 0 ? "tool_calls" : stopReason === "length" ? "length" : "stop";
  const spoken = spokenText(text);
  return {
    text: spoken === "" && finish === "stop" ? NO_TEXT : spoken,
    calls,
    finish,
    usage: usage && wireUsage(usage),
  };
}

/** The API counts what came from the cache, or went into it, as part of the prompt. */
function wireUsage({ input, output, cacheRead, cacheWrite }: Usage): WireUsage {
  const prompt = input + cacheRead + cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
  };
}

/** A call as it stands in a message. */
export function wireCall({ id, name, arguments: args }: ToolCallBlock) {
  return { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

/** Choice: milliseconds until a run that failed for a while is asked for again. */
const RETRY_MS = 2_000;

/**
 * Why there is no answer; `undefined` for a run that is `ok`. Choice: a run somebody stopped is a conflict (409), one out of
 * time 504. Only what did nothing yet may be repeated: clients do that by themselves.
 */
export function failureOfRun(outcome: RunOutcome): Failure | undefined {
  const { status, abortReason, retryable, calledTools, startedAt } = outcome;
  if (status === "ok") return undefined;
  if (status === "error") {
    const message = outcome.errorMessage ?? "the agent run failed";
    if (retryable === true) return failure(503, "unavailable", "unavailable", message, calledTools === false);
    return failure(500, "api_error", "run_failed", message, false);
  }
  if (abortReason === "timeout")
    return failure(
      504,
      "timeout",
      "timeout",
      "the agent run took longer than it may (agents.defaults.timeoutSeconds)",
      false,
    );
  if (abortReason === "restart")
    return failure(503, "unavailable", "unavailable", "the gateway is restarting; try again", startedAt === undefined);
  return failure(409, "conflict", "run_stopped", "the agent run was stopped before it had answered", false);
}

/** The gateway, or this part of it, stops while an answer is under way. */
export const STOPPING: Failure = failure(
  503,
  "unavailable",
  "unavailable",
  "the gateway stopped before the run ended; try again",
  false,
);

function failure(status: number, type: string, code: string, message: string, mayRepeat: boolean): Failure {
  const error = { message, type, param: null, code };
  return { status, error, mayRepeat, retryAfterMs: status === 503 ? RETRY_MS : undefined };
}
