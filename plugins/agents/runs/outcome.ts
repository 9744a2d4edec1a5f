/** Builds the outcomes of runs for records, hooks and callers. No I/O. */
import { isGatewayError, saidAfter } from "@svc/sdk";
import type { RunOutcome } from "@svc/sdk/agents";
import { PROVIDER_FAILURES, type ProviderFailure } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import { REVOKED, STOPPED_BY_TOOL, STOPPED_WITH_PARENT } from "../subagents/settings.ts";
import type { Heard } from "./heard.ts";
import type { LiveRun } from "./live-runs.ts";
import type { ModelChain } from "./model-chain.ts";
import type { PromptReport } from "./prompt-report.ts";
import type { TurnResult } from "./turn.ts";

/** The result of a turn, with its session and models. */
export interface Conducted {
  readonly result: TurnResult;
  readonly entry: SessionEntry | undefined;
  readonly heard: Heard;
  readonly chain?: ModelChain;
  readonly report?: PromptReport;
}

/** Outcome of a run that started. */
export function outcomeOf(run: LiveRun, { result, entry, heard, chain }: Conducted, endedAt: number): RunOutcome {
  const { runId, sessionKey } = run.request;
  return {
    runId,
    sessionKey,
    status: result.status,
    ...(run.startedAt === undefined ? {} : { startedAt: run.startedAt }),
    endedAt,
    text: result.text,
    ...(result.errorMessage === undefined ? {} : { errorMessage: result.errorMessage }),
    ...(result.status === "error" ? { ...failureFacts(result.cause), calledTools: result.calledTools } : {}),
    ...(result.status === "aborted" ? { abortReason: run.abortReason } : {}),
    ...(result.message ? { message: result.message, stopReason: result.message.stopReason } : {}),
    ...(result.pendingCalls ? { pendingCalls: result.pendingCalls } : {}),
    ...(result.usage ? { usage: result.usage } : {}),
    ...(chain ? { provider: chain.current.provider, model: chain.current.id } : {}),
    ...(entry ? { sessionId: entry.sessionId } : {}),
    ...(heard.floor ? { origin: saidAfter(heard.floor) } : {}),
  };
}

/** Outcome of a run that never started. @param error the cause; absent: it was aborted */
export function unstartedOutcome(run: LiveRun, endedAt: number, error?: unknown): RunOutcome {
  const { runId, sessionKey } = run.request;
  const ended = { runId, sessionKey, endedAt, text: "" };
  if (error === undefined) return { ...ended, status: "aborted", abortReason: run.abortReason };
  const errorMessage = isGatewayError(error) ? error.message : "the run could not start";
  return { ...ended, status: "error", errorMessage, ...failureFacts(error), calledTools: false };
}

/** Outcome of a run whose message was merged into the turn of `into`. */
export function mergedOutcome(
  { request: { runId, sessionKey } }: LiveRun,
  into: LiveRun,
  abortReason: "collected" | "dropped" | "steered",
  endedAt: number,
): RunOutcome {
  return { runId, sessionKey, status: "aborted", endedAt, text: "", abortReason, mergedInto: into.id };
}

/** Texts by `abortReason`. */
const STOPPED: Readonly<Record<string, string>> = {
  rpc: "it was stopped by a client",
  stop: "it was stopped by a stop command",
  cron: "it was stopped with its cron job",
  disconnect: "it was stopped because its caller disconnected",
  interrupted: "it was stopped for a newer message",
  dropped: "it was dropped because the queue was full",
  reset: "it was stopped because its session was reset",
  delete: "it was stopped because its session was deleted",
  restart: "it was stopped by a restart of the gateway",
  [STOPPED_WITH_PARENT]: "it was stopped with the run that started it",
  [REVOKED]: "it was stopped because the credential it was started with ended",
  [STOPPED_BY_TOOL]: "it was stopped by the agent that started it",
};

/** Why a run did not succeed; `undefined` for `ok`. Never empty. */
export function reasonOf(outcome: RunOutcome): string | undefined {
  const { status, errorMessage, abortReason = "", mergedInto, startedAt, endedAt } = outcome;
  if (status === "ok") return undefined;
  if (status === "error") return errorMessage || "the run failed";
  if (mergedInto !== undefined) return `its message was merged into run ${mergedInto}`;
  if (abortReason === "timeout")
    return `it timed out after ${Math.round((endedAt - (startedAt ?? endedAt)) / 1_000)} s`;
  return STOPPED[abortReason] ?? `it was stopped (${abortReason || "no reason was given"})`;
}

/** Failures that persist until the key, the account or the request changes. */
const LASTING: ReadonlySet<unknown> = new Set<ProviderFailure["kind"]>(["auth", "billing", "request"]);

/** Facts about an error for the record: `retryable`, and `failure` if the model provider gives the kind. */
export function failureFacts(error: unknown): Pick<RunOutcome, "retryable" | "failure"> {
  if (!isGatewayError(error) || error.code !== "UNAVAILABLE") return {};
  const { details } = error;
  const given = typeof details === "object" && details !== null && "kind" in details ? details.kind : undefined;
  const failure = PROVIDER_FAILURES.find((kind) => kind === given);
  return { ...(LASTING.has(failure) ? {} : { retryable: true }), ...(failure === undefined ? {} : { failure }) };
}
