/** What the end of a run means for its job. Decides only. Spec: protocol/methods-cron.md §10. */
import type { RunOutcome } from "@svc/sdk/agents";
import type { CronStatus } from "@svc/sdk/cron";
import type { CronConfig } from "./config.ts";
import type { Facts, Settled, StoredJob } from "./records.ts";

/** Milliseconds after the first, second … error in a row of a job that runs again and again. */
export const BACKOFF_MS = [30_000, 60_000, 300_000, 900_000, 3_600_000];
export const TIMED_OUT = "cron: job execution timed out";

/** How a run ended. */
export interface Ended {
  readonly status: CronStatus;
  readonly error?: string;
  /** What the agent said, or the job itself. */
  readonly summary?: string;
  /** It may work later, and nothing of it has had an effect. */
  readonly isTransient: boolean;
}

/** @param retryOn failures that count as transient */
export function endOf(outcome: RunOutcome, retryOn: CronConfig["retry"]["retryOn"], summary: string): Ended {
  const { status, errorMessage = "the run failed", abortReason, calledTools, retryable, failure } = outcome;
  const words = summary === "" ? {} : { summary };
  if (status === "ok") return { status, isTransient: false, ...words };
  if (status === "aborted") {
    const error = abortReason === "timeout" ? TIMED_OUT : `the run was stopped (${abortReason ?? "no reason given"})`;
    return { status: "error", error, isTransient: false, ...words };
  }
  // Cut off by a stop or a crash, or a failure nobody has given a kind: only as long as nothing had been done.
  const unnamed = failure === undefined && calledTools === false;
  const isTransient = retryable === true ? failure === undefined || includes(retryOn, failure) : unnamed;
  return { status: "error", error: errorMessage, isTransient, ...words };
}

function includes(list: readonly string[], word: string): boolean {
  return list.includes(word);
}

/** What is to become of the job. */
export interface Aftermath {
  readonly remove: boolean;
  readonly enabled: boolean;
  readonly facts: Facts;
  /** epoch ms */
  readonly heldUntil: number;
  /** When a job that runs once is tried again, epoch ms. */
  readonly retryAt?: number;
}

interface RunTimes {
  /** epoch ms */
  readonly startedAt: number;
  readonly now: number;
}

export function afterRun(
  { definition, facts }: Pick<StoredJob, "definition" | "facts">,
  ended: Ended,
  delivery: Pick<Settled["entry"], "delivered" | "deliveryStatus" | "deliveryError">,
  { startedAt, now }: RunTimes,
  retry: CronConfig["retry"],
): Aftermath {
  const { lastError: _error, lastDeliveryError: _delivery, lastDelivered: _delivered, ...before } = facts;
  const errors = ended.status === "error" ? (facts.consecutiveErrors ?? 0) + 1 : 0;
  const { delivered, deliveryStatus = "not-requested", deliveryError } = delivery;
  const next: Facts = {
    ...before,
    lastRunAtMs: startedAt,
    lastRunStatus: ended.status,
    lastStatus: ended.status,
    lastDurationMs: Math.max(0, now - startedAt),
    consecutiveErrors: errors,
    lastDeliveryStatus: deliveryStatus,
    ...(ended.error === undefined ? {} : { lastError: ended.error }),
    ...(delivered === undefined ? {} : { lastDelivered: delivered }),
    ...(deliveryError === undefined ? {} : { lastDeliveryError: deliveryError }),
  };
  const same = { remove: false, enabled: definition.enabled, facts: next, heldUntil: 0 };
  if (definition.schedule.kind !== "at")
    return { ...same, heldUntil: errors === 0 ? 0 : now + pick(BACKOFF_MS, errors) };
  if (ended.status === "ok" && definition.deleteAfterRun === true) return { ...same, remove: true };
  const isRetried = ended.isTransient && definition.enabled && errors <= retry.maxAttempts;
  return isRetried ? { ...same, retryAt: now + pick(retry.backoffMs, errors) } : { ...same, enabled: false };
}

/** The n-th, counted from 1; the last one goes for all further ones. */
function pick(list: readonly number[], n: number): number {
  return list[Math.min(n, list.length) - 1] ?? 0;
}
