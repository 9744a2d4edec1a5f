/**
 * Runs accepted webhooks: one attempt of a run at a time, and a further attempt after a crash or a temporary failure, until the run is
 * done or has failed for good. The records in storage are authoritative; the queue only tracks what is in flight.
 */
import { persist } from "@svc/kit/persist";
import { isGatewayStopping } from "@svc/kit/runs";
import { AnySignal } from "@svc/kit/time";
import { type Clock, ERRORS, GatewayError, isGatewayError, type Logger, untilAborted } from "@svc/sdk";
import type { Owner } from "@svc/sdk/storage";
import type { AcceptedWebhook, ServedWebhookAction, WebhookRun } from "@svc/sdk/webhooks";
import type { RunRecord } from "./run-records.ts";
import type { Attempt, RunStore } from "./run-store.ts";

/** Choice: milliseconds before each further attempt after a failure; after the last attempt the run has failed for good. */
export const RETRY_MS: readonly number[] = [1_000, 5_000, 30_000, 120_000, 600_000];
/** Choice: total attempts, interrupted ones included, so that a run that crashes the gateway each time ends. */
export const MAX_ATTEMPTS = 50;
/** Choice: runs of one action in flight at a time; the others wait on disk. */
const MAX_IN_FLIGHT = 16;
/** Choice: milliseconds after which a first attempt is recorded as running. The record of a shorter one only changes when the attempt ends. */
const CLAIM_MS = 250;
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
  /** Called when a webhook was recorded that does not begin here, since the gateway is about to stop. */
  waits(): void;
}

export class WebhookQueue {
  readonly #options: QueueOptions;
  /** Ids of runs by action. */
  readonly #inFlight = new Map<string, Set<string>>();
  readonly #running = new Set<Promise<void>>();
  /** Actions with runs that may be due on disk and are not in flight. */
  readonly #behind = new Set<string>();
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
    void this.#resume();
  }

  /** Call this when a webhook was recorded that is not done yet. @param owner as recorded */
  accepted(webhook: AcceptedWebhook, owner: Owner): void {
    const { action } = webhook;
    if (this.#isPaused) this.#options.waits();
    const served = this.#isOpen && !this.#behind.has(action) ? this.#options.action(action) : undefined;
    if (served?.isServing !== true || this.#idsOf(action).size >= MAX_IN_FLIGHT) return this.look(action);
    this.#begin(recordOf(webhook), served, owner);
  }

  /** Looks for runs that are due here. To be called when those of another gateway may have become free. Never throws. */
  sweep(): void {
    const { log } = this.#options;
    if (this.#isStarted)
      this.#pollAll().catch((err: unknown) => log.warn({ err }, "due webhooks could not be read; retrying in 30 s"));
  }

  /** Call this when a run of this action is due. */
  look(action: string): void {
    void this.#poll(action);
  }

  get #isOpen(): boolean {
    return !this.#stopping.signal.aborted && !this.#isPaused;
  }

  /** Call this when the gateway is about to stop. Webhooks that arrive now wait on disk for the next start, or for another gateway. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Lets other gateways take what waits. */
  release(): Promise<void> {
    return this.#options.store.release(this.#ours());
  }

  #ours(): readonly string[] {
    return [...this.#inFlight.values()].flatMap((ids) => [...ids]);
  }

  /** Starts no further run; the next start continues the rest. Resolves when no run is in flight. Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    await Promise.all(this.#running);
  }

  async #resume(): Promise<void> {
    const { clock, log } = this.#options;
    try {
      await this.#pollAll();
    } catch (err) {
      if (this.#stopping.signal.aborted) return;
      log.warn({ err }, "accepted webhooks cannot be resumed yet; retrying in 5 s");
      return this.#later(RETRY_START_MS, () => void this.#resume());
    }
    if (this.#stopping.signal.aborted) return;
    this.#timers.add(clock.setInterval(() => this.sweep(), POLL_MS));
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
    const count = await store.recover(clock.now(), this.#ours());
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
    this.#behind.add(action);
    if (!this.#isOpen) return;
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
    const ids = this.#idsOf(action);
    if (ids.size >= MAX_IN_FLIGHT) return; // each run polls again when it ends
    const served = this.#options.action(action);
    if (!served) return this.#pollIn(action, ABSENT_MS);
    if (!served.isServing) return this.#pollIn(action, STARTING_MS);
    const due = await store.due(action, clock.now(), MAX_IN_FLIGHT + ids.size); // those in flight may be among them
    const fresh = due.filter(({ run }) => !ids.has(run.runId));
    const room = this.#isOpen ? MAX_IN_FLIGHT - ids.size : 0;
    for (const record of fresh.slice(0, room)) this.#begin(record, served);
    if (fresh.length <= room && due.length < MAX_IN_FLIGHT) this.#behind.delete(action);
  }

  /** @param owner of a run that was just accepted here */
  #begin(record: RunRecord, served: ServedWebhookAction, owner?: Owner): void {
    const ended = this.#execute(record, served, owner);
    this.#running.add(ended);
    void ended.then(() => this.#running.delete(ended));
  }

  #idsOf(action: string): Set<string> {
    const ids = this.#inFlight.get(action) ?? new Set<string>();
    this.#inFlight.set(action, ids);
    return ids;
  }

  /** Makes one attempt. Never rejects. @param accepted owner of a run that was just accepted here: no other gateway may run it */
  async #execute(record: RunRecord, served: ServedWebhookAction, accepted: Owner | undefined): Promise<void> {
    const { store, clock, log, finished } = this.#options;
    const { runId, action, attempts } = record.run;
    const ids = this.#idsOf(action);
    ids.add(runId);
    try {
      const owner = accepted ?? (await store.owner());
      const attempt: Attempt = { runId, owner, number: attempts + 1, startedAt: clock.now(), isClaimed: false };
      const claim = async () => {
        await store.claim(attempt);
        attempt.isClaimed = true;
      };
      if (!accepted) await claim();
      const late = accepted ? this.#unlessOver(claim, runId) : undefined;
      const { write, over } = await this.#attempt(record, served, attempt);
      await late?.();
      await persist(write, { clock, signal: this.#stopping.signal }); // the run has ended; only the write is repeated
      if (over) finished(over);
    } catch (err) {
      // Another gateway has the run, or storage failed: the record is authoritative and is read again.
      if (!isGatewayError(err) || err.code !== "CONFLICT")
        log.warn({ err, runId }, "a webhook attempt could not be started or recorded; the queue will retry it");
    } finally {
      ids.delete(runId);
      if (this.#isPaused) this.#options.waits(); // it may have to be repeated
      if (this.#behind.has(action)) this.look(action);
    }
  }

  /** Claims a run that takes longer. @returns a function for its end: after it, nothing more is claimed. It never rejects */
  #unlessOver(claim: () => Promise<void>, runId: string): () => Promise<void> {
    let claiming: Promise<void> | undefined;
    const cancel = this.#options.clock.setTimeout(() => {
      claiming = claim().catch((err: unknown) =>
        this.#options.log.warn({ err, runId }, "a webhook in progress could not be recorded as running"),
      );
    }, CLAIM_MS);
    return async () => {
      cancel();
      await claiming;
    };
  }

  /** @returns how to record the outcome */
  async #attempt(record: RunRecord, action: ServedWebhookAction, attempt: Attempt): Promise<Ending> {
    const { store, clock } = this.#options;
    const { runId, mapping, acceptedAt } = record.run;
    const ending = new AnySignal(this.#stopping.signal, action.signal, attempt.owner.signal);
    const { signal } = ending;
    try {
      signal.throwIfAborted();
      if (!record.job) throw new GatewayError("INTERNAL", "the run has no job");
      const work = { runId, attempt: attempt.number, mapping, acceptedAt, ...record.job };
      const result = await untilAborted(action.run(work, signal), signal);
      const endedAt = clock.now();
      const over = { ...endOf(record, attempt, endedAt), status: "done", ...result } as const;
      return { write: () => store.done(attempt, endedAt, result), over };
    } catch (error) {
      if (signal.aborted || isGatewayStopping(error)) {
        const reason = "its plugin or the gateway stopped, or lost its lease";
        return { write: () => store.again(attempt, clock.now(), reason, false) };
      }
      return this.#afterFailure(record, attempt, error);
    } finally {
      ending.release();
    }
  }

  #afterFailure(record: RunRecord, attempt: Attempt, error: unknown): Ending {
    const { store, clock, log } = this.#options;
    const { runId, action } = record.run;
    const known = isGatewayError(error);
    const reason = known ? error.message : "the plugin of this action failed; see the log of the gateway";
    const mayPass = !known || ERRORS[error.code].retry;
    const wait = attempt.number >= MAX_ATTEMPTS ? undefined : RETRY_MS[record.failures];
    if (!mayPass || wait === undefined) {
      log.warn(
        { runId, action, attempt: attempt.number, reason },
        "a webhook failed for good; see: svc hooks runs --status failed",
      );
      const endedAt = clock.now();
      const over = { ...endOf(record, attempt, endedAt), status: "failed", reason } as const;
      return { write: () => store.failed(attempt, endedAt, reason), over };
    }
    const inMs = Math.max(wait, (known ? error.retryAfterMs : undefined) ?? 0);
    log.info({ runId, action, attempt: attempt.number, reason, inMs }, "a webhook attempt failed; retrying later");
    const write = async () => {
      await store.again(attempt, clock.now() + inMs, reason, true);
      this.#pollIn(action, inMs);
    };
    return { write };
  }
}

function recordOf({
  runId,
  mapping,
  action,
  acceptedAt,
  prepared,
  wrapped,
  contentSource,
}: AcceptedWebhook): RunRecord {
  const { params, reply = {}, sessionKey } = prepared;
  const run = { runId, status: "queued", mapping, action, acceptedAt, attempts: 0 } as const;
  return {
    run: sessionKey === undefined ? run : { ...run, sessionKey },
    job: { params, wrapped, contentSource },
    reply,
    failures: 0,
  };
}

function endOf({ run }: RunRecord, { startedAt, number }: Attempt, endedAt: number) {
  const { runId, mapping, action, acceptedAt, sessionKey, replayOf } = run;
  return {
    runId,
    mapping,
    action,
    acceptedAt,
    startedAt,
    endedAt,
    attempts: number,
    ...(sessionKey === undefined ? {} : { sessionKey }),
    ...(replayOf === undefined ? {} : { replayOf }),
  };
}

/** How to record the outcome of an attempt. */
interface Ending {
  write(): Promise<void>;
  /** The run, if it is done or has failed for good. */
  readonly over?: WebhookRun;
}
