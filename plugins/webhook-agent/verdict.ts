/** Decides what the end of a run means for its webhook. No I/O. */
import type { RunOutcome } from "@svc/sdk/agents";
import { type Message, textOf } from "@svc/sdk/models";
import type { TranscriptItem } from "@svc/sdk/sessions";

/** An ended run. */
export interface Ended {
  readonly outcome: RunOutcome;
  /** The gateway stopped before the run ended. */
  readonly isInterrupted: boolean;
}

/** `unknown`: the transcript no longer exists, or is too long to contain the start of the run. */
export type ToolUse = "none" | "some" | "unknown";

export type Verdict =
  | { readonly kind: "done" }
  /** The run had no effects. */
  | { readonly kind: "again"; readonly reason: string }
  /** `status` is for the summary. */
  | { readonly kind: "failed"; readonly status: string; readonly reason: string };

/**
 * A run that called a tool is repeated only on request, since its effects persist.
 * @param replayId run id of the webhook, for the hint in the reason
 */
export function judge({ outcome, isInterrupted }: Ended, tools: ToolUse, replayId: string): Verdict {
  const { status, abortReason, errorMessage = "the run failed", retryable = false } = outcome;
  if (status === "ok") return { kind: "done" };
  if (status === "aborted") {
    if (abortReason === "timeout") return { kind: "failed", status: "timeout", reason: "the run timed out" };
    return { kind: "failed", status: "aborted", reason: `the run was stopped (${abortReason ?? "no reason given"})` };
  }
  if (!isInterrupted && !retryable) return { kind: "failed", status: "error", reason: errorMessage };
  if (tools === "none") return { kind: "again", reason: errorMessage };
  const had = tools === "some" ? "it had called tools" : "whether it had called tools is no longer known";
  const advice = `it may have had effects, so it is not repeated automatically: svc hooks replay ${replayId} repeats it`;
  return {
    kind: "failed",
    status: isInterrupted ? "interrupted" : "error",
    reason: `${errorMessage}; ${had}, and ${advice}`,
  };
}

/** Whether the run whose message contains `marked` called tools. @param items the end of its session's transcript */
export function toolUse(items: readonly TranscriptItem[], marked: string): ToolUse {
  const messages = items.map(({ message }) => message);
  const start = messages.findLastIndex((message) => isUser(message) && textOf(message).includes(marked));
  if (start < 0) return "unknown";
  const after = messages.slice(start + 1);
  const next = after.findIndex(isUser);
  return after.slice(0, next < 0 ? after.length : next).some(callsTool) ? "some" : "none";
}

const isUser = ({ role }: Message) => role === "user";

function callsTool(message: Message): boolean {
  if (message.role === "toolResult") return true;
  return message.role === "assistant" && message.content.some(({ type }) => type === "toolCall");
}
