/**
 * Runs accepted webhooks: one attempt of a run at a time, and a further attempt after a crash or a temporary failure, until the run is
 * done or has failed for good. The records in storage are authoritative; the queue only tracks what is in flight.
 */
import { persist } from "@svc/kit/persist";
import { isGatewayStopping } from "@svc/kit/runs";
import { AnySignal } from "@svc/kit/time";
import { type Clock, ERRORS, GatewayError, isGatewayError, type Logger, untilAborted } from "@svc/sdk";
import type { ServedWebhookAction, WebhookRun } from "@svc/sdk/webhooks";
import type { RunRecord } from "./run-records.ts";
import type { RunStore } from "./run-store.ts";

/** Choice: milliseconds before each further attempt after a failure; after the last attempt the run has failed for good. */
export const RETRY_MS: readonly number[] = [1_000, 5_000, 30_000, 120_000, 600_000];
/** Choice: total attempts, interrupted ones included, so that a run that crashes the gateway each time ends. */
export const MAX_ATTEMPTS = 50;
/** Choice: runs of one action in flight at a time; the others wait on disk. */
const MAX_IN_FLIGHT = 16;
/** Choice: interval of the sweep that finds due runs missed by notifications. */
const POLL_MS = 30_000;
/** Choice: milliseconds until the next poll of an action whose plugin is absent. */
const ABSENT_MS = 5_000;
/** Milliseconds until the next poll of an action whose plugin is starting or being replaced. */
const STARTING_MS = 250;
/** Choice: milliseconds until the next attempt to start the queue. */
const RETRY_START_MS = 5_000;

export interface QueueOptions {
  readonly store: RunStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** The action as currently served; `undefined` while no running plugin serves it. */
  action(id: string): ServedWebhookAction | undefined;
  /** Called when a run is done or has failed for good. */
  finished(run: WebhookRun): void;
}

export class WebhookQueue {
  readonly #options: QueueOptions;
  /** Ids of runs by action. */
  readonly #inFlight = new Map<string, Set<string>>();
  readonly #running = new Set<Promise<void>>();
  /** Actions being polled; the value says whether to poll again afterwards. */
  readonly #polling = new Map<string, boolean>();
  #isStarted = false;
  /** Set when the gateway is about to stop: runs in flight continue, no new run starts. */
  #isPaused = false;
  readonly #stopping = new AbortController();
  readonly #timers = new Set<() => void>();

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Whether a planned restart would interrupt a run. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** Continues what the last stop or crash left over, as soon as storage is available. Safe to call twice. */
  start(): void {
    if (this.#isStarted || this.#stopping.signal.aborted) return;
    this.#isStarted = true;
    void this.#begin();
  }

  /** Call this when a run of this action was recorded. */
  accepted(action: string): void {
    void this.#poll(action);
  }

  /** Call this when the gateway is about to stop. Webhooks that arrive now wait on disk for the next start. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Starts no further run; the next start continues the rest. Resolves when no run is in flight. Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    await Promise.all(this.#running);
  }

  async #begin(): Promise<void> {
    const { clock, log } = this.#options;
    try {
      await this.#pollAll();
    } catch (err) {
      if (this.#stopping.signal.aborted) return;
      log.warn({ err }, "accepted webhooks cannot be resumed yet; retrying in 5 s");
      return this.#later(RETRY_START_MS, () => void this.#begin());
    }
    if (this.#stopping.signal.aborted) return;
    const poll = () =>
      void this.#pollAll().catch((err: unknown) =>
        log.warn({ err }, "due webhooks could not be read; retrying in 30 s"),
      );
    this.#timers.add(clock.setInterval(poll, POLL_MS));
  }

  #later(ms: number, work: () => void): void {
    if (this.#stopping.signal.aborted) return;
    const cancel = this.#options.clock.setTimeout(() => {
      this.#timers.delete(cancel);
      work();
    }, ms);
    this.#timers.add(cancel);
  }

  /** Also finds running records without a run in flight: interrupted by a crash, or claimed before storage failed. */
  async #pollAll(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const { store, clock, log } = this.#options;
    const ours = [...this.#inFlight.values()].flatMap((ids) => [...ids]);
    const count = await store.recover(clock.now(), ours);
    if (count > 0) log.info({ count }, "interrupted webhooks are resumed");
    const waiting = await store.waiting();
    const now = clock.now();
    for (const [action, due] of waiting) {
      if (due <= now) void this.#poll(action);
      else this.#pollIn(action, due - now);
    }
  }

  #pollIn(action: string, ms: number): void {
    if (ms <= POLL_MS) this.#later(ms, () => void this.#poll(action)); // the sweep finds later ones
  }

  /** Starts the due runs, up to the limit. Never rejects. */
  async #poll(action: string): Promise<void> {
    if (this.#stopping.signal.aborted || this.#isPaused) return;
    if (this.#polling.has(action)) return void this.#polling.set(action, true);
    this.#polling.set(action, false);
    try {
      await this.#beginDue(action);
    } catch (err) {
      this.#options.log.warn({ err, action }, "accepted webhooks could not be read; retrying in 30 s");
    }
    const again = this.#polling.get(action);
    this.#polling.delete(action);
    if (again) void this.#poll(action);
  }

  async #beginDue(action: string): Promise<void> {
    const { store, clock } = this.#options;
    const room = MAX_IN_FLIGHT - this.#idsOf(action).size;
    if (room <= 0) return; // each run polls again when it ends
    const served = this.#options.action(action);
    if (!served) return this.#pollIn(action, ABSENT_MS);
    if (!served.isServing) return this.#pollIn(action, STARTING_MS);
    const now = clock.now();
    for (const record of await store.due(action, now, room)) {
      if (this.#idsOf(action).has(record.run.runId) || this.#stopping.signal.aborted || this.#isPaused) continue;
      const ended = this.#execute(record, served);
      this.#running.add(ended);
      void ended.then(() => this.#running.delete(ended));
    }
  }

  #idsOf(action: string): Set<string> {
    const ids = this.#inFlight.get(action) ?? new Set<string>();
    this.#inFlight.set(action, ids);
    return ids;
  }

  /** Makes one attempt. Never rejects. */
  async #execute(record: RunRecord, served: ServedWebhookAction): Promise<void> {
    const { store, clock, log } = this.#options;
    const { runId, action, attempts } = record.run;
    const ids = this.#idsOf(action);
    ids.add(runId);
    try {
      await store.claim(record, clock.now());
      const { write, isOver } = await this.#attempt(record, served, attempts + 1);
      await persist(write, { clock, signal: this.#stopping.signal }); // the run has ended; only the write is repeated
      if (isOver) await this.#notify(runId);
    } catch (err) {
      // Another process has the run, or storage failed: the record is authoritative and is read again.
      if (!isGatewayError(err) || err.code !== "CONFLICT")
        log.warn({ err, runId }, "a webhook attempt could not be started or recorded; the queue will retry it");
    } finally {
      ids.delete(runId);
      void this.#poll(action);
    }
  }

  /** @returns how to record the outcome */
  async #attempt(record: RunRecord, action: ServedWebhookAction, attempt: number): Promise<Ending> {
    const { store, clock } = this.#options;
    const { runId, mapping, acceptedAt } = record.run;
    const ending = new AnySignal(this.#stopping.signal, action.signal);
    const { signal } = ending;
    try {
      signal.throwIfAborted();
      if (!record.job) throw new GatewayError("INTERNAL", "the run has no job");
      const work = { runId, attempt, mapping, acceptedAt, ...record.job };
      const result = await untilAborted(action.run(work, signal), signal);
      return { write: () => store.done(runId, attempt, clock.now(), result), isOver: true };
    } catch (error) {
      if (signal.aborted || isGatewayStopping(error)) {
        const reason = "its plugin or the gateway stopped";
        return { write: () => store.again(runId, attempt, clock.now(), reason, false), isOver: false };
      }
      return this.#afterFailure(record, attempt, error);
    } finally {
      ending.release();
    }
  }

  #afterFailure(record: RunRecord, attempt: number, error: unknown): Ending {
    const { store, clock, log } = this.#options;
    const { runId, action } = record.run;
    const known = isGatewayError(error);
    const reason = known ? error.message : "the plugin of this action failed; see the log of the gateway";
    const mayPass = !known || ERRORS[error.code].retry;
    const wait = attempt >= MAX_ATTEMPTS ? undefined : RETRY_MS[record.failures];
    if (!mayPass || wait === undefined) {
      log.warn({ runId, action, attempt, reason }, "a webhook failed for good; see: svc hooks runs --status failed");
      return { write: () => store.failed(runId, attempt, clock.now(), reason), isOver: true };
    }
    const inMs = Math.max(wait, (known ? error.retryAfterMs : undefined) ?? 0);
    log.info({ runId, action, attempt, reason, inMs }, "a webhook attempt failed; retrying later");
    const write = async () => {
      await store.again(runId, attempt, clock.now() + inMs, reason, true);
      this.#pollIn(action, inMs);
    };
    return { write, isOver: false };
  }

  async #notify(runId: string): Promise<void> {
    const found = await this.#options.store.find(runId);
    if (found) this.#options.finished(found.run);
  }
}

/** How to record the outcome of an attempt. */
interface Ending {
  write(): Promise<void>;
  /** Whether the run is done or has failed for good. */
  readonly isOver: boolean;
}
