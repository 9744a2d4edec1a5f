/** Things a session is told that no person said, in words for its model. Pure. Spec: protocol/methods-agent.md §1, `internalEvents`. */

/** A task that somebody else did for the session is over. */
export interface TaskCompletion {
  readonly type: "task_completion";
  readonly source: "subagent" | "cron";
  readonly childSessionKey: string;
  readonly childSessionId?: string;
  readonly taskLabel: string;
  readonly status: "ok" | "timeout" | "error" | "unknown";
  /** The status in words. */
  readonly statusLabel: string;
  readonly result: string;
  readonly statsLine?: string;
  /** What the model is asked to do with it. */
  readonly replyInstruction: string;
}

/** Choice: characters of a result that are passed on; the rest stays in the session it came from. */
export const MAX_RESULT_CHARS = 30_000;

export function taskCompletionText(event: TaskCompletion): string {
  const { source, taskLabel, statusLabel, childSessionKey, statsLine, replyInstruction } = event;
  const cut = event.result.length - MAX_RESULT_CHARS;
  const result = cut > 0 ? `${event.result.slice(0, MAX_RESULT_CHARS)}\n[cut: ${cut} more characters]` : event.result;
  return [
    `[A ${source === "cron" ? "scheduled task" : "sub-agent"} reports: "${taskLabel}" ${statusLabel}]`,
    `Session: ${childSessionKey}`,
    // Marked off, so that words of the result do not read as words of the person.
    `<result>\n${result.trim() || "(nothing was said)"}\n</result>`,
    ...(statsLine ? [statsLine] : []),
    replyInstruction,
  ].join("\n\n");
}

/** One of the `internalEvents` of the method `agent`; `undefined` for what is none. */
export function readInternalEvent(value: unknown): TaskCompletion | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const event = value as Readonly<Record<string, unknown>>; // any JSON may stand here: each field is checked
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
