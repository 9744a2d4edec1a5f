/** How runs ended lately, and who waits for one to end. */
import type { Clock } from "@svc/sdk";
import type { RunOutcome } from "@svc/sdk/services";

/** Milliseconds an outcome is kept in memory. Spec: protocol/methods-agent.md §2. */
export const KEEP_MS = 600_000;
/** Choice: outcomes kept in memory; older ones are read from their record. */
export const KEEP_COUNT = 1_000;

type Waiter = (outcome: RunOutcome | undefined) => void;

export class Outcomes {
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #kept = new Map<string, { readonly outcome: RunOutcome; readonly until: number }>();
  readonly #waiters = new Map<string, Set<Waiter>>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(runId: string): RunOutcome | undefined {
    const kept = this.#kept.get(runId);
    return kept && kept.until > this.#clock.elapsed() ? kept.outcome : undefined;
  }

  /** Keeps it and tells everybody who waits. */
  add(outcome: RunOutcome): void {
    const now = this.#clock.elapsed();
    this.#kept.set(outcome.runId, { outcome, until: now + KEEP_MS });
    for (const [runId, { until }] of this.#kept) {
      if (this.#kept.size <= KEEP_COUNT && until > now) break;
      this.#kept.delete(runId);
    }
    for (const tell of this.#waiters.get(outcome.runId) ?? []) tell(outcome);
  }

  /** The outcome of `runId`, kept or to come; `undefined` after `timeoutMs` milliseconds (absent: no limit) or when this closes. */
  next(runId: string, timeoutMs?: number): Promise<RunOutcome | undefined> {
    const kept = this.get(runId);
    if (kept || this.#closed) return Promise.resolve(kept);
    return new Promise((resolve) => {
      const waiters = this.#waiters.get(runId) ?? new Set<Waiter>();
      this.#waiters.set(runId, waiters);
      let cancel: (() => void) | undefined;
      const tell: Waiter = (outcome) => {
        cancel?.();
        waiters.delete(tell);
        if (waiters.size === 0) this.#waiters.delete(runId);
        resolve(outcome);
      };
      waiters.add(tell);
      if (timeoutMs === undefined) return;
      cancel = this.#clock.setTimeout(() => tell(undefined), timeoutMs);
    });
  }

  /** Nobody waits any longer. */
  close(): void {
    this.#closed = true;
    for (const waiters of this.#waiters.values()) for (const tell of waiters) tell(undefined);
  }
}
