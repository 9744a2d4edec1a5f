/** How the end of a run changes its job. Pure. Spec: protocol/methods-cron.md §10. */
import type { RunOutcome } from "@svc/sdk/agents";
import type { CronDelivery, CronStatus } from "@svc/sdk/cron";
import type { CronConfig } from "../config.ts";
import { defined } from "../fields.ts";
import type { Facts, StoredJob } from "../store/records.ts";
import type { Delivered } from "./notifications.ts";

/** Milliseconds of back-off after the first, second … error in a row of a recurring job. */
export const BACKOFF_MS = [30_000, 60_000, 300_000, 900_000, 3_600_000];
export const TIMED_OUT = "cron: job execution timed out";

/** How a run ended. */
export interface Ended {
  readonly status: CronStatus;
  readonly error?: string;
  /** The reply of the agent, or the text of the job. */
  readonly summary?: string;
  /** A retry may succeed, and the run has had no effect yet. */
  readonly isTransient: boolean;
}

/** @param retryOn failures that count as transient */
export function endOf(outcome: RunOutcome, retryOn: CronConfig["retry"]["retryOn"], summary: string): Ended {
  const { status, errorMessage = "the run failed", abortReason, calledTools, retryable, failure } = outcome;
  const text = summary === "" ? {} : { summary };
  if (status === "ok") return { status, isTransient: false, ...text };
  if (status === "aborted") {
    const error = abortReason === "timeout" ? TIMED_OUT : `the run was stopped (${abortReason ?? "no reason given"})`;
    return { status: "error", error, isTransient: false, ...text };
  }
  // Interrupted by a stop or crash, or failed without a kind: transient only if no tool was called.
  const unnamed = failure === undefined && calledTools === false;
  const isTransient = retryable === true ? failure === undefined || retryOn.some((kind) => kind === failure) : unnamed;
  return { status: "error", error: errorMessage, isTransient, ...text };
}

/**
 * A run whose delivery failed has failed, unless the delivery is `bestEffort`. Choice: also unless the job names neither
 * `channel` nor `to`, since older clients send `announce` without either.
 */
export function withDelivery(ended: Ended, { deliveryError }: Delivered, delivery: CronDelivery | undefined): Ended {
  if (ended.status !== "ok" || deliveryError === undefined || !delivery || delivery.bestEffort === true) return ended;
  if (delivery.mode === "announce" && delivery.channel === undefined && delivery.to === undefined) return ended;
  return { ...ended, status: "error", error: deliveryError };
}

/** How the job changes after a run. */
export interface Aftermath {
  readonly remove: boolean;
  readonly enabled: boolean;
  readonly facts: Facts;
  /** epoch ms */
  readonly heldUntil: number;
  /** When a job that runs once is retried, epoch ms. */
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
  delivery: Delivered,
  { startedAt, now }: RunTimes,
  retry: CronConfig["retry"],
): Aftermath {
  const { lastError: _error, lastDeliveryError: _delivery, lastDelivered: _delivered, ...before } = facts;
  const errors = ended.status === "error" ? (facts.consecutiveErrors ?? 0) + 1 : 0;
  const { delivered, deliveryStatus = "not-requested", deliveryError } = delivery;
  const next = defined<Facts>({
    ...before,
    lastRunAtMs: startedAt,
    lastRunStatus: ended.status,
    lastStatus: ended.status,
    lastDurationMs: Math.max(0, now - startedAt),
    consecutiveErrors: errors,
    lastDeliveryStatus: deliveryStatus,
    lastError: ended.error,
    lastDelivered: delivered,
    lastDeliveryError: deliveryError,
  });
  const same = { remove: false, enabled: definition.enabled, facts: next, heldUntil: 0 };
  if (definition.schedule.kind !== "at")
    return { ...same, heldUntil: errors === 0 ? 0 : now + pick(BACKOFF_MS, errors) };
  if (ended.status === "ok" && definition.deleteAfterRun === true) return { ...same, remove: true };
  const isRetried = ended.isTransient && definition.enabled && errors <= retry.maxAttempts;
  return isRetried ? { ...same, retryAt: now + pick(retry.backoffMs, errors) } : { ...same, enabled: false };
}

/** The n-th value, counted from 1; the last value also serves all higher n. */
function pick(list: readonly number[], n: number): number {
  return list[Math.min(n, list.length) - 1] ?? 0;
}
