/** How runs ended, as their records, hooks and callers see it. Decides only. */
import { isGatewayError, saidAfter } from "@svc/sdk";
import type { RunOutcome } from "@svc/sdk/agents";
import { PROVIDER_FAILURES, type ProviderFailure } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import { REVOKED, STOPPED_BY_TOOL, STOPPED_WITH_PARENT } from "../subagents/settings.ts";
import type { Heard } from "./heard.ts";
import type { LiveRun } from "./live-runs.ts";
import type { ModelChain } from "./model-chain.ts";
import type { TurnResult } from "./turn.ts";

/** The result of a turn, with the session and the models it had. */
export interface Conducted {
  readonly result: TurnResult;
  readonly entry: SessionEntry | undefined;
  readonly heard: Heard;
  readonly chain?: ModelChain;
}

/** Of a run that started. */
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

/** Of a run that never started. @param error why; absent: it was aborted */
export function unstartedOutcome(run: LiveRun, endedAt: number, error?: unknown): RunOutcome {
  const { runId, sessionKey } = run.request;
  const ended = { runId, sessionKey, endedAt, text: "" };
  if (error === undefined) return { ...ended, status: "aborted", abortReason: run.abortReason };
  const errorMessage = isGatewayError(error) ? error.message : "the run could not start";
  return { ...ended, status: "error", errorMessage, ...failureFacts(error), calledTools: false };
}

/** Of a run whose message went into the turn of `into`. */
export function mergedOutcome(
  { request: { runId, sessionKey } }: LiveRun,
  into: LiveRun,
  abortReason: "collected" | "dropped" | "steered",
  endedAt: number,
): RunOutcome {
  return { runId, sessionKey, status: "aborted", endedAt, text: "", abortReason, mergedInto: into.id };
}

/** What stopped a run, by `abortReason`. */
const STOPPED: Readonly<Record<string, string>> = {
  rpc: "it was stopped by a client",
  stop: "it was stopped by a stop command",
  cron: "it was stopped with its cron job",
  disconnect: "it was stopped because its caller went away",
  interrupted: "it was stopped for a newer message",
  dropped: "it was left out because too many messages waited",
  reset: "it was stopped because its session was reset",
  delete: "it was stopped because its session was deleted",
  restart: "it was stopped by a restart of the gateway",
  [STOPPED_WITH_PARENT]: "it was stopped with the run that started it",
  [REVOKED]: "it was stopped because the credential it was started with ended",
  [STOPPED_BY_TOOL]: "it was stopped by the agent that started it",
};

/** Why a run ended that did not end well; `undefined` for `ok`. Never empty. */
export function reasonOf(outcome: RunOutcome): string | undefined {
  const { status, errorMessage, abortReason = "", mergedInto, startedAt, endedAt } = outcome;
  if (status === "ok") return undefined;
  if (status === "error") return errorMessage || "the run failed";
  if (mergedInto !== undefined) return `its message went into run ${mergedInto}`;
  if (abortReason === "timeout")
    return `it timed out after ${Math.round((endedAt - (startedAt ?? endedAt)) / 1_000)} s`;
  return STOPPED[abortReason] ?? `it was stopped (${abortReason || "no reason was given"})`;
}

/** Failures that last until somebody changes the key, the account or the question. */
const LASTING: ReadonlySet<unknown> = new Set<ProviderFailure["kind"]>(["auth", "billing", "request"]);

/** What a record says of the error: `retryable`, and `failure` where a model server said how it failed. */
export function failureFacts(error: unknown): Pick<RunOutcome, "retryable" | "failure"> {
  if (!isGatewayError(error) || error.code !== "UNAVAILABLE") return {};
  const { details } = error;
  const given = typeof details === "object" && details !== null && "kind" in details ? details.kind : undefined;
  const failure = PROVIDER_FAILURES.find((kind) => kind === given);
  return { ...(LASTING.has(failure) ? {} : { retryable: true }), ...(failure === undefined ? {} : { failure }) };
}
