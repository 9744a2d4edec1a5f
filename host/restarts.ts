/**
 * When the gateway restarts: one restart at a time, not too often, and not in the middle of work.
 * Who really starts it again is handed in as `perform`. Spec: protocol/methods-config.md §4, http/config.md §4.1.
 */
import { type Clock, type Logger, unavailable } from "@svc/sdk";
import type { RestartKind, Restarts, ScheduledRestart } from "@svc/sdk/gateway";

/** Milliseconds. */
const DEFAULT_DELAY = 2_000;
const LONGEST_DELAY = 60_000;
const COOLDOWN = 30_000;
const IDLE_POLL = 500;
/** Spec: protocol/methods-config.md §4. */
const LEAST_IDLE_WAIT = 30_000;

/** Somebody outside the gateway who can start it again. */
export interface Restarter {
  /**
   * Begins the restart: returns at once, the gateway is stopped from outside. Called once more while it stops when somebody
   * needs a new process after all.
   */
  perform(reason: string, kind?: RestartKind): void;
  /** It can bring up a new process. Default: no. */
  readonly renews?: boolean;
  /** epoch ms of the restart that brought this gateway up; the cooldown counts from it. Absent after a fresh start. */
  readonly lastPerformedAt?: number;
}

/** `perform` is absent where nobody can start the gateway again. */
export interface RestartsOptions extends Partial<Restarter> {
  readonly clock: Clock;
  readonly log: Logger;
  /** Nothing is being worked on. A throw counts as busy. */
  isIdle(): boolean;
  /** Milliseconds a restart waits for that. Choice: as long as a run may take. Default, and at least: 30000. */
  readonly idleWaitMs?: number | undefined;
}

/** The service, with what only the host may do. */
export interface HostRestarts extends Restarts {
  /** epoch ms; `undefined` before the first one */
  readonly lastPerformedAt: number | undefined;
  /** Milliseconds until the restart that is scheduled, 0 when it has begun or waits for work to end; `undefined`: there is none. */
  pendingMs(): number | undefined;
  /** Forgets what is pending. Later requests join the restart that has begun, else they are refused. Safe to call twice. */
  stop(): void;
}

/** `waiting`: due at a time. `under way`: due, waits for idleness or is being performed. */
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
  /** The strongest that is asked for. */
  let wanted: RestartKind = "gateway";
  let begunAs: RestartKind | undefined;
  /** Everybody who asked since the last restart, each once. */
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
      if (late) log.warn({ waitedMs: waitMs }, "restarting although there is work in progress");
      begin();
    }, IDLE_POLL);
  }

  function idle(): boolean {
    try {
      return isIdle();
    } catch (error) {
      log.warn({ err: error }, "whether there is work in progress could not be found out; a restart waits");
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
      log.error({ err: error, reason }, "the restart could not be begun");
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
          "nobody can start this gateway again; stop the program that runs it and start that anew (svc gateway run restarts on its own)",
        );
      if (kind === "process" && !renews)
        unavailable("this gateway is a part of another program, which has to be started anew by hand");
      const isUnderWay = state === "under way" || (state === "stopped" && begunAs !== undefined);
      if (state === "stopped" && !isUnderWay)
        unavailable("the gateway is stopping; ask the next one", { retryAfterMs: 1_000 });
      reasons.add(reason);
      if (kind === "process") wanted = kind;
      if (isUnderWay && begunAs !== undefined && begunAs !== wanted) begin();
      if (isUnderWay) return { delayMs: 0, coalesced: true, cooldownMsApplied: 0 };
      const now = clock.now();
      const delay = Math.min(LONGEST_DELAY, Math.max(0, delayMs));
      // A clock that was set back must not stretch the cooldown.
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
