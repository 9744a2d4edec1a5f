/**
 * Runs accepted webhooks: one attempt of a run at a time, another one after a crash or a temporary failure, until the run is
 * done or has failed for good. The records are the truth; the queue only knows what is in flight.
 */
import { persist } from "@svc/kit/persist";
import { isGatewayStopping } from "@svc/kit/runs";
import { AnySignal } from "@svc/kit/time";
import { type Clock, ERRORS, GatewayError, isGatewayError, type Logger, untilAborted } from "@svc/sdk";
import type { ServedWebhookAction, WebhookRun } from "@svc/sdk/webhooks";
import type { RunRecord } from "./run-records.ts";
import type { RunStore } from "./run-store.ts";

/** Choice: milliseconds before each further attempt after a failure; after the last one it has failed for good. */
export const RETRY_MS: readonly number[] = [1_000, 5_000, 30_000, 120_000, 600_000];
/** Choice: attempts in all, interrupted ones included: a run that takes the gateway down each time must end. */
export const MAX_ATTEMPTS = 50;
/** Choice: runs of one action in flight at a time; the others wait on disk. */
const MAX_IN_FLIGHT = 16;
/** Choice: interval of the sweep that finds due runs nobody announced. */
const POLL_MS = 30_000;
/** Choice: milliseconds until an action is polled again whose plugin is away. */
const ABSENT_MS = 5_000;
/** Milliseconds until an action is polled again whose plugin starts or is being replaced. */
const STARTING_MS = 250;
/** Choice: milliseconds until a queue that could not start is started again. */
const RETRY_START_MS = 5_000;

export interface QueueOptions {
  readonly store: RunStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** The action as it is served now; `undefined` while no running plugin has it. */
  action(id: string): ServedWebhookAction | undefined;
  /** Called when a run is over. */
  finished(run: WebhookRun): void;
}

export class WebhookQueue {
  readonly #options: QueueOptions;
  /** Ids of runs by action. */
  readonly #inFlight = new Map<string, Set<string>>();
  readonly #running = new Set<Promise<void>>();
  /** Actions that are being polled, and whether they are to be polled again afterwards. */
  readonly #polling = new Map<string, boolean>();
  #isStarted = false;
  /** Set when the gateway is going to stop: what is in flight goes on, and nothing begins. */
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

  /** Carries on what the last stop or crash left over, as soon as storage can be used. Safe to call twice. */
  start(): void {
    if (this.#isStarted || this.#stopping.signal.aborted) return;
    this.#isStarted = true;
    void this.#begin();
  }

  /** Call it when a run of this action was recorded. */
  accepted(action: string): void {
    void this.#poll(action);
  }

  /** To be called when the gateway is going to stop. Webhooks that come now wait on disk for the next start. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Begins nothing more; the next start carries on what is left. Resolves when no run is in flight. Safe to call twice. */
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
      log.warn({ err }, "accepted webhooks cannot be carried on yet; tried again soon");
      return this.#later(RETRY_START_MS, () => void this.#begin());
    }
    if (this.#stopping.signal.aborted) return;
    const poll = () =>
      void this.#pollAll().catch((err: unknown) => log.warn({ err }, "webhooks could not be looked at"));
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

  /** Also finds running records without a run in flight: interrupted by a crash, or claimed when storage failed before it answered. */
  async #pollAll(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const { store, clock, log } = this.#options;
    const ours = [...this.#inFlight.values()].flatMap((ids) => [...ids]);
    const count = await store.recover(clock.now(), ours);
    if (count > 0) log.info({ count }, "webhooks that were cut off are carried on");
    const waiting = await store.waiting();
    const now = clock.now();
    for (const [action, due] of waiting) {
      if (due <= now) void this.#poll(action);
      else this.#pollIn(action, due - now);
    }
  }

  #pollIn(action: string, ms: number): void {
    if (ms <= POLL_MS) this.#later(ms, () => void this.#poll(action)); // the next sweep finds the others
  }

  /** Begins what is due, as far as there is room. Never rejects. */
  async #poll(action: string): Promise<void> {
    if (this.#stopping.signal.aborted || this.#isPaused) return;
    if (this.#polling.has(action)) return void this.#polling.set(action, true);
    this.#polling.set(action, false);
    try {
      await this.#beginDue(action);
    } catch (err) {
      this.#options.log.warn({ err, action }, "accepted webhooks could not be read; tried again soon");
    }
    const again = this.#polling.get(action);
    this.#polling.delete(action);
    if (again) void this.#poll(action);
  }

  async #beginDue(action: string): Promise<void> {
    const { store, clock } = this.#options;
    const room = MAX_IN_FLIGHT - this.#idsOf(action).size;
    if (room <= 0) return; // the end of a run polls again
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

  /** One attempt. Never rejects. */
  async #execute(record: RunRecord, served: ServedWebhookAction): Promise<void> {
    const { store, clock, log } = this.#options;
    const { runId, action, attempts } = record.run;
    const ids = this.#idsOf(action);
    ids.add(runId);
    try {
      await store.claim(record, clock.now());
      const { write, isOver } = await this.#attempt(record, served, attempts + 1);
      await persist(write, { clock, signal: this.#stopping.signal }); // the run itself is over
      if (isOver) await this.#notify(runId);
    } catch (err) {
      // Another process has it, or the storage failed: the record is the truth, and is read again.
      if (!isGatewayError(err) || err.code !== "CONFLICT")
        log.warn({ err, runId }, "a webhook could not be carried on now");
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
      if (!record.job) throw new GatewayError("INTERNAL", "there is nothing left to carry out");
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
    const reason = known ? error.message : "the plugin of this action failed; the log of the gateway says how";
    const mayPass = !known || ERRORS[error.code].retry;
    const wait = attempt >= MAX_ATTEMPTS ? undefined : RETRY_MS[record.failures];
    if (!mayPass || wait === undefined) {
      log.warn({ runId, action, attempt, reason }, "a webhook failed for good; see: svc hooks runs --status failed");
      return { write: () => store.failed(runId, attempt, clock.now(), reason), isOver: true };
    }
    const inMs = Math.max(wait, (known ? error.retryAfterMs : undefined) ?? 0);
    log.info({ runId, action, attempt, reason, inMs }, "a webhook is tried again later");
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
  /** The run is done or has failed for good. */
  readonly isOver: boolean;
}
