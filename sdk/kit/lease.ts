/**
 * Leases on rows of the storage: a row belongs to its owner until `lease_until`, which the owner renews. Each write of
 * an owner names it (`WHERE owner = ?`), so an owner that was delayed changes nothing after another one has taken the
 * row.
 *
 * Choice: a clock that jumps neither loses nor duplicates a lease. The shared SQL dialect has no clock, and the clocks
 * of two gateways may differ, so `lease_until` is never compared with the time: another owner's lease has expired once
 * it has not been renewed for `LEASE_MS` of monotonic time, counted from its first read by this process.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Clock, Logger } from "@svc/sdk";

/** Choice: duration of a lease and interval of renewals, in milliseconds. */
export const LEASE_MS = 10_000;
export const RENEW_MS = 3_000;
/**
 * Choice: milliseconds after which an owner without renewals is dropped from memory; if it appears again, it gets a
 * full lease.
 */
const FORGET_MS = 3_600_000;

/** A lease as stored in a row. */
export interface Lease {
  /** Absent: no owner, or the row does not record it. */
  readonly owner?: string | undefined;
  /** epoch ms by the clock of its owner at its start; raised by each renewal. 0: released */
  readonly until: number;
}

/** Start of this process, epoch ms; distinguishes it from an earlier one with the same id. */
const PROCESS_START = Math.round(performance.timeOrigin);

/** A unique name of an owner: a plugin in one process, from one start or reload to the next. */
export function newOwner(): string {
  return [hostname(), process.pid, PROCESS_START, randomUUID()].join("/");
}

/** The leases of one owner, and its view of the leases of others. */
export class Leases {
  readonly #clock: Pick<Clock, "elapsed">;
  /** Epoch ms of monotonic 0. */
  readonly #origin: number;
  /** Per other owner: its newest lease, and when that was first read (monotonic). */
  readonly #seen = new Map<string | undefined, { readonly until: number; readonly at: number }>();

  constructor(clock: Pick<Clock, "now" | "elapsed">) {
    this.#clock = clock;
    this.#origin = clock.now() - clock.elapsed();
  }

  /** `lease_until` of a lease that is acquired or renewed now. It never decreases. */
  until(): number {
    return Math.round(this.#origin + this.#clock.elapsed()) + LEASE_MS;
  }

  /** Milliseconds until this owner may take the row of another owner; 0: now. */
  left({ owner, until }: Lease): number {
    if (until === 0 || (owner !== undefined && hasEnded(owner))) {
      this.#seen.delete(owner);
      return 0;
    }
    const now = this.#clock.elapsed();
    const known = this.#seen.get(owner);
    const seen = known && known.until >= until ? known : { until, at: now };
    this.#seen.set(owner, seen);
    if (!known) for (const [other, { at }] of this.#seen) if (now - at > FORGET_MS) this.#seen.delete(other);
    return Math.max(0, seen.at + LEASE_MS - now);
  }
}

/** Whether the process of an owner is known to have ended. Unknown for processes of other machines. */
function hasEnded(owner: string): boolean {
  const [host, pid, start] = owner.split("/");
  if (host !== hostname() || pid === undefined) return false;
  if (Number(pid) === process.pid) return Number(start) !== PROCESS_START;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/** Renews the leases of an owner every 3 s while it needs them. */
export class Renewal {
  readonly #clock: Pick<Clock, "setInterval">;
  readonly #renew: () => Promise<unknown>;
  readonly #isNeeded: () => boolean;
  readonly #log: Pick<Logger, "warn">;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(
    sources: { readonly clock: Pick<Clock, "setInterval">; readonly log: Pick<Logger, "warn"> },
    renew: () => Promise<unknown>,
    isNeeded: () => boolean,
  ) {
    this.#clock = sources.clock;
    this.#log = sources.log;
    this.#renew = renew;
    this.#isNeeded = isNeeded;
  }

  /** Call this whenever a lease was acquired. */
  start(): void {
    if (this.#isStopped) return;
    this.#cancel ??= this.#clock.setInterval(() => {
      if (!this.#isNeeded()) return this.#pause();
      this.#renew().catch((error: unknown) =>
        this.#log.warn({ err: error }, "lease renewal failed; retrying at the next interval"),
      );
    }, RENEW_MS);
  }

  /** Stops all renewals. Safe to call twice. */
  stop(): void {
    this.#isStopped = true;
    this.#pause();
  }

  #pause(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
