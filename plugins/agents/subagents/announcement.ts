/** What a session is told about the end of a sub-run of it. Decides only. */
import { SILENT_REPLY } from "@svc/sdk/services";
import { type TaskCompletion, taskCompletionText } from "./internal-events.ts";
import { STOPPED_BY_TOOL, STOPPED_WITH_PARENT } from "./names.ts";
import type { Subrun } from "./store.ts";

const INSTRUCTION =
  "Go on with what this was for: tell the person what matters of it in your own words, or use it in your work. " +
  `If there is nothing to say or do now, answer only ${SILENT_REPLY}.`;

/** `undefined`: nobody wants to know, since whoever would stopped it. */
export function announcement(subrun: Subrun): string | undefined {
  const { outcome, label, sessionKey } = subrun;
  const { abortReason } = outcome ?? {};
  if (abortReason === STOPPED_WITH_PARENT || abortReason === STOPPED_BY_TOOL || abortReason === "reset")
    return undefined;
  const { status, statusLabel } = statusOf(subrun);
  const seconds = statsOf(subrun);
  const event: TaskCompletion = {
    type: "task_completion",
    source: "subagent",
    childSessionKey: sessionKey,
    taskLabel: label ?? "task",
    status,
    statusLabel,
    result: outcome?.text ?? "",
    ...(seconds === undefined ? {} : { statsLine: seconds }),
    replyInstruction: INSTRUCTION,
  };
  return taskCompletionText(event);
}

function statusOf({ outcome, status }: Subrun): Pick<TaskCompletion, "status" | "statusLabel"> {
  if (outcome?.status === "ok") return { status: "ok", statusLabel: "is done" };
  if (outcome?.abortReason === "timeout") return { status: "timeout", statusLabel: "ran out of time" };
  if (outcome?.status === "error")
    return { status: "error", statusLabel: `failed: ${outcome.errorMessage ?? "no reason given"}` };
  return { status: "unknown", statusLabel: `was stopped (${outcome?.abortReason ?? status})` };
}

function statsOf({ outcome }: Subrun): string | undefined {
  if (outcome?.startedAt === undefined) return undefined;
  const seconds = Math.round((outcome.endedAt - outcome.startedAt) / 1_000);
  const tokens = outcome.usage?.totalTokens;
  return `Took ${seconds} s${tokens === undefined ? "" : `, ${tokens} tokens`}.`;
}
