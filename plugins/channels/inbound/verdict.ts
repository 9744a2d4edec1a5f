/** Consequence of a run's end for the message it answered. Decides only. */
import type { RunOutcome, RunState } from "@svc/sdk/agents";
import { shownReply } from "./reply-text.ts";

/** Maximum number of runs for one message: runs that a stop of the gateway interrupted are repeated. */
export const MAX_ATTEMPTS = 3;

export type Verdict =
  | { readonly kind: "reply"; readonly text: string }
  | { readonly kind: "silent"; readonly reason: string }
  /** The run had no effect. */
  | { readonly kind: "again" }
  /** @param text reply to the person */
  | { readonly kind: "failed"; readonly reason: string; readonly text: string };

export const FAILED_TEXT = "Something went wrong here, so there is no answer. Please try again later.";
export const CUT_OFF_TEXT =
  "The work on your message was interrupted by a restart and may be half done. Please check, and ask again if needed.";
export const TOO_LONG_TEXT = "That took too long and was stopped. Please try something smaller.";

/** The reason of a failed run is not part of the reply: it may contain internal details. */
export function judge(outcome: RunOutcome, status: RunState["status"] | undefined, attempt: number): Verdict {
  if (outcome.status === "ok") {
    const text = shownReply(outcome.text);
    return text === undefined ? { kind: "silent", reason: "the agent had nothing to say" } : { kind: "reply", text };
  }
  if (outcome.status === "aborted") {
    const { abortReason = "stopped", mergedInto } = outcome;
    if (mergedInto !== undefined) return { kind: "silent", reason: `answered with a later message (${abortReason})` };
    if (abortReason === "timeout") return { kind: "failed", reason: "the run took too long", text: TOO_LONG_TEXT };
    return { kind: "silent", reason: `the run was stopped (${abortReason})` };
  }
  const reason = outcome.errorMessage ?? "the run failed";
  if (status !== "interrupted") return { kind: "failed", reason, text: FAILED_TEXT };
  if (outcome.calledTools === false && attempt < MAX_ATTEMPTS) return { kind: "again" };
  return { kind: "failed", reason, text: CUT_OFF_TEXT };
}
