/**
 * Wakes sessions that have urgent events: one turn for all that come within a quarter of a second, never beside another
 * run of the session, and only while the events still wait.
 */
import { type Clock, isGatewayError, type Logger, type Principal } from "@svc/sdk";
import { type AgentRuns, currentTimeLine, type RunOutcome } from "@svc/sdk/services";
import type { EventStore } from "./event-store.ts";
import type { Settled } from "./telling.ts";

/** Spec: http/webhooks.md §10. */
export const COALESCE_MS = 250;
/** Choice: pauses after turns that failed; after the last one the events wait for something new, or for a restart. */
export const PAUSES_MS = [60_000, 120_000, 240_000, 480_000, 960_000];

export const WAKE_PROMPT =
  "This is the gateway and no person. Something happened that this conversation was to be woken for: it stands under " +
  '"Runtime events". See what of it needs you, and go by HEARTBEAT.md of your workspace if there is such a file. If ' +
  "nothing needs you, answer only HEARTBEAT_OK.";

/**
 * Whom the turns act for. Choice: as sub-agents they may at most read and write; nobody asked for them, and their reason
 * may have come from outside.
 */
const PRINCIPAL: Principal = {
  id: "plugin:heartbeat",
  role: "operator",
  scopes: ["operator.read", "operator.write"],
  provenance: "plugin",
  epoch: 0,
};

interface WakeSources {
  readonly store: Pick<EventStore, "isUrgent" | "urgentSessions">;
  readonly runs: Pick<AgentRuns, "start" | "active">;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn" | "info">;
  /** Default: a random UUID. */
  readonly newRunId: () => string;
}

export class Wakes {
  readonly #sources: WakeSources;
  /** By session; `dueAt`: elapsed ms. */
  readonly #timers = new Map<string, { readonly dueAt: number; readonly cancel: () => void }>();
  /** Sessions that are looked at. */
  readonly #looking = new Set<string>();
  /** Sessions whose run is waited for. */
  readonly #held = new Set<string>();
  /** Turns that failed in a row. */
  readonly #failures = new Map<string, number>();
  #isOpen = false;

  constructor(sources: WakeSources) {
    this.#sources = sources;
  }

  /** Wakes a session soon. Before `open` nothing is to be done: the events are on disk. */
  request(sessionKey: string, delayMs: number = COALESCE_MS): void {
    if (!this.#isOpen) return;
    const dueAt = this.#sources.clock.elapsed() + delayMs;
    const known = this.#timers.get(sessionKey);
    if (known && known.dueAt <= dueAt) return;
    known?.cancel();
    const cancel = this.#sources.clock.setTimeout(() => {
      this.#timers.delete(sessionKey);
      void this.#look(sessionKey);
    }, delayMs);
    this.#timers.set(sessionKey, { dueAt, cancel });
  }

  /** To be called once runs can start: wakes what a former process has not. May be called again, also after it failed. */
  async open(): Promise<void> {
    if (this.#isOpen) return;
    this.#isOpen = true;
    try {
      for (const sessionKey of await this.#sources.store.urgentSessions()) this.request(sessionKey);
    } catch (error) {
      this.#isOpen = false;
      throw error;
    }
  }

  /** To be called at the end of every run, with what became of its events. */
  finished({ sessionKey, status }: Pick<RunOutcome, "sessionKey" | "status">, settled: Settled): void {
    if (status === "ok") this.#failures.delete(sessionKey);
    // More than a turn is told may have waited, or something came meanwhile.
    if (this.#held.delete(sessionKey) || settled === "told") return this.request(sessionKey);
    // Whoever stopped a turn does not want another one at once: its events wait for what comes next.
    if (settled !== "urgent" || status !== "error") return;
    const failures = this.#failures.get(sessionKey) ?? 0;
    this.#failures.set(sessionKey, failures + 1);
    const pauseMs = PAUSES_MS[failures];
    if (pauseMs === undefined) {
      this.#sources.log.warn({ sessionKey, failures }, "a session cannot be woken; its events wait for its next turn");
    } else this.request(sessionKey, pauseMs);
  }

  stop(): void {
    this.#isOpen = false;
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
  }

  async #look(sessionKey: string): Promise<void> {
    if (this.#looking.has(sessionKey)) return this.request(sessionKey);
    this.#looking.add(sessionKey);
    try {
      if (await this.#sources.store.isUrgent(sessionKey)) await this.#wake(sessionKey);
    } catch (error) {
      const pauseMs = (isGatewayError(error) ? error.retryAfterMs : undefined) ?? PAUSES_MS[0];
      this.#sources.log.warn({ err: error, sessionKey }, "a session could not be woken; it is tried again");
      this.request(sessionKey, pauseMs);
    } finally {
      this.#looking.delete(sessionKey);
    }
  }

  async #wake(sessionKey: string): Promise<void> {
    const { runs, clock, newRunId } = this.#sources;
    if (!this.#isOpen) return;
    if (runs.active(sessionKey).length > 0) return void this.#held.add(sessionKey);
    await runs.start({
      runId: newRunId(),
      sessionKey,
      message: `${WAKE_PROMPT}\n\n${currentTimeLine(clock.now())}`,
      origin: "heartbeat",
      principal: PRINCIPAL,
    });
  }
}
