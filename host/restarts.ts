/**
 * Schedules restarts of the gateway: one at a time, with a cooldown, after work in flight.
 * `perform` does the actual restart. Spec: protocol/methods-config.md §4, http/config.md §4.1.
 */
import { type Clock, type Logger, unavailable } from "@svc/sdk";
import type { RestartKind, Restarts, ScheduledRestart } from "@svc/sdk/gateway";

/** Milliseconds. */
export const DEFAULT_DELAY = 2_000;
const LONGEST_DELAY = 60_000;
const COOLDOWN = 30_000;
const IDLE_POLL = 500;
/** Spec: protocol/methods-config.md §4. */
const LEAST_IDLE_WAIT = 30_000;

/** Restarts the gateway from outside. */
export interface Restarter {
  /**
   * Begins the restart and returns immediately; the gateway is stopped from outside. Called again while the gateway stops if
   * a later request needs a new process.
   */
  perform(reason: string, kind?: RestartKind): void;
  /** Whether it can start a new process. Default false. */
  readonly renews?: boolean;
  /** epoch ms of the restart that started this gateway; the cooldown begins there. Absent after a fresh start. */
  readonly lastPerformedAt?: number;
}

/** `perform` is absent if the gateway cannot be restarted. */
export interface RestartsOptions extends Partial<Restarter> {
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether no work is in flight. A throw counts as busy. */
  isIdle(): boolean;
  /** Milliseconds a restart waits for idleness. Choice: as long as a run may take. Default and minimum: 30000. */
  readonly idleWaitMs?: number | undefined;
}

/** The service, with additional members for the host. */
export interface HostRestarts extends Restarts {
  /** epoch ms; `undefined` before the first restart */
  readonly lastPerformedAt: number | undefined;
  /** Milliseconds until the scheduled restart, 0 if it has begun or waits for work in flight; `undefined` if none is scheduled. */
  pendingMs(): number | undefined;
  /** Cancels a pending restart. Later requests join a restart that has begun, else they are refused. Safe to call twice. */
  stop(): void;
}

/** `waiting`: due at a set time. `under way`: due; waits for idleness or is being performed. */
type State = "none" | "waiting" | "under way" | "stopped";

export function createRestarts({
  clock,
  log,
  isIdle,
  idleWaitMs = LEAST_IDLE_WAIT,
  perform,
  renews = false,
  ...before
}: RestartsOptions): HostRestarts {
  let state: State = "none";
  let dueAt = 0;
  let lastPerformedAt = before.lastPerformedAt;
  let cancel = () => {};
  /** The strongest requested kind. */
  let wanted: RestartKind = "gateway";
  let begunAs: RestartKind | undefined;
  /** Distinct reasons of requests since the last restart. */
  const reasons = new Set<string>();

  function wait(until: number, delayMs: number, applied: number): ScheduledRestart {
    cancel();
    dueAt = until;
    state = "waiting";
    cancel = clock.setTimeout(whenDue, delayMs);
    log.info({ delayMs, reasons: [...reasons] }, "a restart is scheduled");
    return { delayMs, coalesced: false, cooldownMsApplied: applied };
  }

  function whenDue(): void {
    state = "under way";
    if (idle()) return begin();
    const waitMs = Math.max(LEAST_IDLE_WAIT, idleWaitMs);
    const givenUpAt = clock.elapsed() + waitMs;
    cancel = clock.setInterval(() => {
      const late = clock.elapsed() >= givenUpAt;
      if (!late && !idle()) return;
      if (late) log.warn({ waitedMs: waitMs }, "restarting although work is in progress");
      begin();
    }, IDLE_POLL);
  }

  function idle(): boolean {
    try {
      return isIdle();
    } catch (error) {
      log.warn({ err: error }, "the check for work in progress failed; the restart waits");
      return false;
    }
  }

  function begin(): void {
    cancel();
    const reason = [...reasons].join(", ");
    reasons.clear();
    try {
      perform?.(reason, wanted);
      begunAs = wanted;
      lastPerformedAt = clock.now();
    } catch (error) {
      state = "none"; // the next request may try again
      log.error({ err: error, reason }, "the restart could not be started");
    }
  }

  return {
    possible: perform !== undefined,
    renewable: perform !== undefined && renews,
    get lastPerformedAt() {
      return lastPerformedAt;
    },

    pendingMs() {
      if (state === "waiting") return Math.max(0, dueAt - clock.now());
      return state === "under way" || begunAs !== undefined ? 0 : undefined;
    },

    schedule({ reason, delayMs = DEFAULT_DELAY, kind = "gateway" }) {
      if (!perform)
        unavailable(
          "this gateway cannot restart itself; restart the program that runs it (svc gateway run restarts by itself)",
        );
      if (kind === "process" && !renews)
        unavailable("this gateway is part of another program; restart that program by hand");
      const isUnderWay = state === "under way" || (state === "stopped" && begunAs !== undefined);
      if (state === "stopped" && !isUnderWay)
        unavailable("the gateway is stopping; retry after its restart", { retryAfterMs: 1_000 });
      reasons.add(reason);
      if (kind === "process") wanted = kind;
      if (isUnderWay && begunAs !== undefined && begunAs !== wanted) begin();
      if (isUnderWay) return { delayMs: 0, coalesced: true, cooldownMsApplied: 0 };
      const now = clock.now();
      const delay = Math.min(LONGEST_DELAY, Math.max(0, delayMs));
      // A clock that was set back must not extend the cooldown.
      const sinceLast = lastPerformedAt === undefined ? COOLDOWN : Math.max(0, now - lastPerformedAt);
      const cooldown = Math.max(0, COOLDOWN - sinceLast);
      const wantedAt = now + delay + cooldown;
      if (state === "waiting" && wantedAt >= dueAt)
        return { delayMs: Math.max(0, dueAt - now), coalesced: true, cooldownMsApplied: cooldown };
      return wait(wantedAt, delay + cooldown, cooldown);
    },

    stop() {
      cancel();
      state = "stopped";
    },
  };
}
