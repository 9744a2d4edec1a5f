/**
 * Wakes sessions: one turn for all wakes within 250 ms, postponed while the session is busy, and repeated if a turn with
 * urgent events failed.
 */
import { type Clock, isGatewayError, type Logger } from "@svc/sdk";
import type { RunOutcome } from "@svc/sdk/agents";
import { RETRY_MS } from "./decision.ts";
import type { EventStore } from "./event-store.ts";
import type { Settled } from "./telling.ts";
import { strongerReason } from "./wake-reasons.ts";

/** Spec: http/webhooks.md §10. */
export const COALESCE_MS = 250;
/** Choice: pauses after failed turns; after the last one, the events wait for a new event or the next heartbeat. */
export const PAUSES_MS = [60_000, 120_000, 240_000, 480_000, 960_000];

/** Choice: most sessions whose failed turns are counted; the count of the one that failed longest ago is dropped. */
export const MAX_FAILING = 1_000;

/** A requested heartbeat. */
export interface Wake {
  readonly agentId: string;
  readonly sessionKey: string;
  readonly reason: string;
  /** Only for urgent events: obsolete once none is waiting. */
  readonly isForEvents: boolean;
  /** Elapsed ms when the session was first found busy. */
  readonly busySince?: number;
}

interface WakeSources {
  readonly store: Pick<EventStore, "isUrgent" | "urgentSessions">;
  /** Returns the agent of a session. */
  readonly agentOf: (sessionKey: string) => string;
  /** Decides whether the heartbeat runs, and starts its turn. `busy`: called again in a second. */
  readonly beat: (wake: Wake) => Promise<"started" | "skipped" | "busy">;
  readonly clock: Pick<Clock, "elapsed" | "setTimeout">;
  readonly log: Pick<Logger, "warn">;
}

interface Planned {
  readonly wake: Wake;
  /** elapsed ms */
  readonly dueAt: number;
  readonly cancel: () => void;
}

export class Wakes {
  readonly #sources: WakeSources;
  /** By session. */
  readonly #planned = new Map<string, Planned>();
  /** Sessions being checked. */
  readonly #looking = new Set<string>();
  /** Consecutive failed turns while urgent events wait, by session. */
  readonly #failures = new Map<string, number>();
  #isOpen = false;
  #isStopped = false;

  constructor(sources: WakeSources) {
    this.#sources = sources;
  }

  /** Wakes a session soon. Does nothing before `open`: events are stored, and there are no heartbeats yet. */
  request(wake: Wake, delayMs: number = COALESCE_MS): void {
    if (!this.#isOpen) return;
    const { sessionKey } = wake;
    const known = this.#planned.get(sessionKey);
    const dueAt = this.#sources.clock.elapsed() + delayMs;
    const both = known ? merged(known.wake, wake) : wake;
    if (known && known.dueAt <= dueAt) return void this.#planned.set(sessionKey, { ...known, wake: both });
    known?.cancel();
    const cancel = this.#sources.clock.setTimeout(() => {
      const due = this.#planned.get(sessionKey)?.wake ?? both;
      this.#planned.delete(sessionKey);
      void this.#look(due);
    }, delayMs);
    this.#planned.set(sessionKey, { wake: both, dueAt, cancel });
  }

  /** Wakes a session for its urgent events. */
  requestFor(sessionKey: string, reason: string, delayMs?: number): void {
    const agentId = this.#sources.agentOf(sessionKey);
    this.request({ agentId, sessionKey, reason, isForEvents: true }, delayMs);
  }

  /** To be called once runs can start. Safe to call twice. */
  open(): void {
    this.#isOpen = !this.#isStopped;
  }

  /** Wakes all sessions that have urgent events, or those of one agent. */
  async requestAll(agentId?: string): Promise<void> {
    const { store, agentOf } = this.#sources;
    for (const sessionKey of await store.urgentSessions())
      if (agentId === undefined || agentOf(sessionKey) === agentId) this.requestFor(sessionKey, "retry");
  }

  /** To be called at the end of every run. @param settled what happened to its events */
  finished({ sessionKey, status }: Pick<RunOutcome, "sessionKey" | "status">, settled: Settled): void {
    if (status === "ok" || settled === "given-back") this.#failures.delete(sessionKey);
    // There may be more events than fit into one turn, or new ones.
    if (settled === "told") return this.requestFor(sessionKey, "retry");
    // A person who stopped a turn does not want another one at once: its events wait for the next turn.
    if (settled !== "urgent" || status !== "error") return;
    const failures = this.#failures.get(sessionKey) ?? 0;
    this.#failures.delete(sessionKey); // moves it to the end: the first entry failed longest ago
    this.#failures.set(sessionKey, failures + 1);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MAX_FAILING && oldest !== undefined) this.#failures.delete(oldest);
    const pauseMs = PAUSES_MS[failures];
    if (pauseMs === undefined) {
      this.#sources.log.warn(
        { sessionKey, failures },
        "a session could not be woken after repeated failures; its events wait for its next turn",
      );
    } else this.requestFor(sessionKey, "retry", pauseMs);
  }

  stop(): void {
    this.#isStopped = true;
    this.#isOpen = false;
    for (const { cancel } of this.#planned.values()) cancel();
    this.#planned.clear();
    this.#failures.clear();
  }

  async #look(wake: Wake): Promise<void> {
    const { sessionKey } = wake;
    if (this.#looking.has(sessionKey)) return this.request(wake);
    const { store, beat, clock, log } = this.#sources;
    this.#looking.add(sessionKey);
    try {
      if (wake.isForEvents && !(await store.isUrgent(sessionKey))) return void this.#failures.delete(sessionKey);
      if (!this.#isOpen || (await beat(wake)) !== "busy") return;
      this.request({ ...wake, busySince: wake.busySince ?? clock.elapsed() }, RETRY_MS);
    } catch (error) {
      const pauseMs = (isGatewayError(error) ? error.retryAfterMs : undefined) ?? PAUSES_MS[0];
      log.warn({ err: error, sessionKey }, "a session could not be woken; retrying");
      this.request(wake, pauseMs);
    } finally {
      this.#looking.delete(sessionKey);
    }
  }
}

function merged(former: Wake, later: Wake): Wake {
  const busySince = former.busySince ?? later.busySince;
  return {
    ...later,
    reason: strongerReason(former.reason, later.reason),
    isForEvents: former.isForEvents && later.isForEvents,
    ...(busySince === undefined ? {} : { busySince }),
  };
}
