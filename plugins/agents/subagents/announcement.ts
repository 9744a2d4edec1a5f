/** The message a session gets when a task it delegated has ended. No I/O. Spec: protocol/methods-agent.md §1, `internalEvents`. */
import { SILENT_REPLY } from "@svc/kit/runs";
import { STOPPED_BY_TOOL, STOPPED_WITH_PARENT } from "./settings.ts";
import type { Subrun } from "./store.ts";

const INSTRUCTION =
  "Continue with what this was for: tell the user the relevant parts in your own words, or use them in your work. " +
  `If there is nothing to say or do now, answer only ${SILENT_REPLY}.`;

/** @returns `undefined`: not announced, since the receiver stopped the sub-run itself or was reset */
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

/** A delegated task of the session has ended. */
export interface TaskCompletion {
  readonly type: "task_completion";
  readonly source: "subagent" | "cron";
  readonly childSessionKey: string;
  readonly childSessionId?: string;
  readonly taskLabel: string;
  readonly status: "ok" | "timeout" | "error" | "unknown";
  /** The status as text. */
  readonly statusLabel: string;
  readonly result: string;
  readonly statsLine?: string;
  /** What the model should do with the result. */
  readonly replyInstruction: string;
}

/** Choice: maximum number of characters of a result that are passed on; the rest stays in the sub-agent's session. */
export const MAX_RESULT_CHARS = 30_000;

export function taskCompletionText(event: TaskCompletion): string {
  const { source, taskLabel, statusLabel, childSessionKey, statsLine, replyInstruction } = event;
  const cut = event.result.length - MAX_RESULT_CHARS;
  const result = cut > 0 ? `${event.result.slice(0, MAX_RESULT_CHARS)}\n[cut: ${cut} more characters]` : event.result;
  return [
    `[A ${source === "cron" ? "scheduled task" : "sub-agent"} reports: "${taskLabel}" ${statusLabel}]`,
    `Session: ${childSessionKey}`,
    // Delimited, so that the model does not mistake the result for a user message.
    `<result>\n${result.trim() || "(empty)"}\n</result>`,
    ...(statsLine ? [statsLine] : []),
    replyInstruction,
  ].join("\n\n");
}

/** Parses an element of `internalEvents` of the method `agent`; `undefined` for anything else. */
export function readInternalEvent(value: unknown): TaskCompletion | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const event = value as Readonly<Record<string, unknown>>; // can be any JSON, so each field is checked
  if (event["type"] !== "task_completion") return undefined;
  const text = (name: string) => (typeof event[name] === "string" ? event[name] : "");
  const status = event["status"];
  const statsLine = text("statsLine");
  return {
    type: "task_completion",
    source: event["source"] === "cron" ? "cron" : "subagent",
    childSessionKey: text("childSessionKey"),
    taskLabel: text("taskLabel") || "task",
    status: status === "ok" || status === "timeout" || status === "error" ? status : "unknown",
    statusLabel: text("statusLabel") || text("status") || "ended",
    result: text("result"),
    ...(statsLine === "" ? {} : { statsLine }),
    replyInstruction: text("replyInstruction"),
  };
}
