/** Outcome of a run in the format of the public API. Pure. Spec: http/chat-completions.md §5, §7 and §9. */
import { spokenText } from "@svc/kit/runs";
import type { RunOutcome } from "@svc/sdk/agents";
import type { ToolCallBlock, Usage } from "@svc/sdk/models";
import type { Failure } from "./refusals.ts";

export type FinishReason = "stop" | "length" | "tool_calls";

/** A completed answer. */
export interface Answer {
  /** The text; empty: the answer contains only calls. */
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

/** Spec: §5; the answer if an agent says nothing. */
const NO_TEXT = "No response from svc.";

/** The answer of a run with status `ok`. */
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

/** The API counts tokens read from and written to a cache as part of the prompt. */
function wireUsage({ input, output, cacheRead, cacheWrite }: Usage): WireUsage {
  const prompt = input + cacheRead + cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
  };
}

/** A call in wire format. */
export function wireCall({ id, name, arguments: args }: ToolCallBlock) {
  return { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

/** Choice: milliseconds after which clients may retry a temporary failure. */
const RETRY_MS = 2_000;

/**
 * The error of a run without an answer; `undefined` for a run that is `ok`. Choice: a stopped run is a conflict (409),
 * a run that timed out 504. `x-should-retry` allows a retry only for runs without effect, because clients retry
 * automatically.
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
      "the agent run exceeded its time limit (agents.defaults.timeoutSeconds)",
      false,
    );
  if (abortReason === "restart")
    return failure(503, "unavailable", "unavailable", "the gateway is restarting; try again", startedAt === undefined);
  return failure(409, "conflict", "run_stopped", "the agent run was stopped before it answered", false);
}

/** The error if the gateway or this plugin stops before the run has ended. */
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
