/**
 * Carries accepted webhooks out: each at most once at a time, again after a crash and after what may pass, until it is done
 * or has failed for good. The records are the truth; this only knows what is under way.
 */
import { type Clock, ERRORS, GatewayError, isGatewayError, type Logger, type Principal } from "@svc/sdk";
import type { WebhookAction, WebhookResult, WebhookRun } from "@svc/sdk/webhooks";
import { settled } from "../clock.ts";
import type { Owner } from "../hooks/owner.ts";
import type { LiveContribution } from "../kernel/kinds/contributions.ts";
import { toJob } from "./job.ts";
import type { RunRecord } from "./run-records.ts";
import type { RunStore } from "./run-store.ts";

/** Choice: milliseconds before each further attempt after a failure; after the last one it has failed for good. */
export const RETRY_MS: readonly number[] = [1_000, 5_000, 30_000, 120_000, 600_000];
/** Choice: attempts in all, those included that a restart cut off: one that takes the gateway down each time must end. */
export const MAX_ATTEMPTS = 50;
/** Choice: runs of one action under way at a time; the others wait on disk. */
const MAX_UNDER_WAY = 16;
/** Choice: milliseconds between two looks for what is due and nobody has said so. */
const LOOK_EVERY_MS = 30_000;
/** Choice: milliseconds until an action is looked for again whose plugin is away. */
const ABSENT_MS = 5_000;
/** Milliseconds until one is looked at again that starts or is being replaced. */
const STARTING_MS = 250;
/** Milliseconds a stop waits for runs to let go. */
const STOP_MS = 2_000;

export interface QueueOptions {
  readonly store: RunStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** The action as it is served now; `undefined` while no running plugin has it. */
  action(id: string): LiveContribution<WebhookAction> | undefined;
  principalFor(mapping: string): Principal;
  /** Told when a run is over. */
  finished(run: WebhookRun): void;
}

export class WebhookQueue {
  readonly #options: QueueOptions;
  readonly #underWay = new Map<string, Set<string>>();
  readonly #running = new Set<Promise<void>>();
  /** Looks under way, and whether another one is wanted after it. */
  readonly #looking = new Map<string, boolean>();
  readonly #stopping = new AbortController();
  readonly #timers = new Set<() => void>();

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Whether a planned restart would cut something off. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** Picks up what the last stop or crash left over. @throws GatewayError storage cannot be used */
  async start(): Promise<void> {
    const { clock, log } = this.#options;
    await this.#lookAround();
    if (this.#stopping.signal.aborted) return;
    const look = () =>
      void this.#lookAround().catch((err: unknown) => log.warn({ err }, "webhooks could not be looked at"));
    this.#timers.add(clock.setInterval(look, LOOK_EVERY_MS));
  }

  /** To be called when a run of this action was recorded. */
  accepted(action: string): void {
    void this.#look(action);
  }

  /** Takes nothing more, and waits a moment for what is under way: the next start carries on what is left. Safe to call twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    await settled(STOP_MS, this.#options.clock, Promise.all(this.#running));
  }

  /** Also finds runs that nobody has under way: cut off by a crash, or taken when the storage could not answer any more. */
  async #lookAround(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const { store, clock, log } = this.#options;
    const ours = [...this.#underWay.values()].flatMap((ids) => [...ids]);
    const count = await store.recover(clock.now(), ours);
    if (count > 0) log.info({ count }, "webhooks that were cut off are carried on");
    const waiting = await store.waiting();
    const now = clock.now();
    for (const [action, due] of waiting) {
      if (due <= now) void this.#look(action);
      else this.#lookAt(action, due - now);
    }
  }

  #lookAt(action: string, inMs: number): void {
    if (inMs > LOOK_EVERY_MS || this.#stopping.signal.aborted) return; // the next look around finds it
    const cancel = this.#options.clock.setTimeout(() => {
      this.#timers.delete(cancel);
      void this.#look(action);
    }, inMs);
    this.#timers.add(cancel);
  }

  /** Begins what is due, as far as there is room. Never rejects. */
  async #look(action: string): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    if (this.#looking.has(action)) return void this.#looking.set(action, true);
    this.#looking.set(action, false);
    try {
      await this.#beginDue(action);
    } catch (err) {
      this.#options.log.warn({ err, action }, "accepted webhooks could not be read; tried again soon");
    }
    const again = this.#looking.get(action);
    this.#looking.delete(action);
    if (again) void this.#look(action);
  }

  async #beginDue(action: string): Promise<void> {
    const { store, clock } = this.#options;
    const room = MAX_UNDER_WAY - this.#ids(action).size;
    if (room <= 0) return; // whoever ends looks again
    const contribution = this.#options.action(action);
    if (!contribution) return this.#lookAt(action, ABSENT_MS);
    if (!isServing(contribution.owner)) return this.#lookAt(action, STARTING_MS);
    const now = clock.now();
    for (const record of await store.due(action, now, room)) {
      if (this.#ids(action).has(record.run.runId) || this.#stopping.signal.aborted) continue;
      const ended = this.#carry(record, contribution);
      this.#running.add(ended);
      void ended.then(() => this.#running.delete(ended));
    }
  }

  #ids(action: string): Set<string> {
    const ids = this.#underWay.get(action) ?? new Set<string>();
    this.#underWay.set(action, ids);
    return ids;
  }

  /** One attempt. Never rejects. */
  async #carry(record: RunRecord, contribution: LiveContribution<WebhookAction>): Promise<void> {
    const { store, clock, log } = this.#options;
    const { runId, action, attempts } = record.run;
    const ids = this.#ids(action);
    ids.add(runId);
    try {
      await store.claim(record, clock.now());
      const { write, isOver } = await this.#attempt(record, contribution, attempts + 1);
      await this.#persist(write);
      if (isOver) await this.#tell(runId);
    } catch (err) {
      // Another process has it, or the storage failed: the record tells, and it is looked at again.
      if (!isGatewayError(err) || err.code !== "CONFLICT")
        log.warn({ err, runId }, "a webhook could not be carried on now");
    } finally {
      ids.delete(runId);
      void this.#look(action);
    }
  }

  /** @returns how to record what came of it */
  async #attempt(
    record: RunRecord,
    { value: action, owner }: LiveContribution<WebhookAction>,
    attempt: number,
  ): Promise<Ending> {
    const { store, clock, principalFor } = this.#options;
    const { runId, mapping } = record.run;
    const signal = AbortSignal.any([this.#stopping.signal, owner.signal]);
    try {
      if (!record.job || !action.run) throw new GatewayError("INTERNAL", "there is nothing left to carry out");
      const { run } = action;
      const job = toJob(record, record.job, action, attempt, principalFor(mapping));
      const result = (await untilAborted(signal, () => owner.run(() => run(job, signal)))) ?? {};
      const kept = storable(result, (error) => owner.charge(error, `result of webhook.action ${record.run.action}`));
      return { write: () => store.done(runId, attempt, clock.now(), kept), isOver: true };
    } catch (error) {
      if (signal.aborted) {
        const reason = "its plugin or the gateway stopped";
        return { write: () => store.again(runId, attempt, clock.now(), reason, false), isOver: false };
      }
      return this.#afterFailure(record, attempt, error, owner);
    }
  }

  #afterFailure(record: RunRecord, attempt: number, error: unknown, owner: Owner): Ending {
    const { store, clock, log } = this.#options;
    const { runId, action } = record.run;
    const known = isGatewayError(error);
    if (!known) owner.charge(error, `webhook.action ${action}`, "caller");
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
      this.#lookAt(action, inMs);
    };
    return { write, isOver: false };
  }

  /** A result that cannot be stored now is stored as soon as it can be: the run itself is over. */
  async #persist(write: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        const passes = isGatewayError(error) && error.code === "UNAVAILABLE";
        if (!passes || this.#stopping.signal.aborted) throw error;
        await this.#pause(error.retryAfterMs ?? 1_000);
      }
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.setTimeout(() => {
        this.#timers.delete(cancel);
        resolve();
      }, ms);
      this.#timers.add(cancel);
      this.#stopping.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  async #tell(runId: string): Promise<void> {
    const found = await this.#options.store.find(runId);
    if (found) this.#options.finished(found.run);
  }
}

/** How to record what came of an attempt. */
interface Ending {
  write(): Promise<void>;
  /** Nothing comes after it. */
  readonly isOver: boolean;
}

/** What of a result can be kept: the run was done, whatever its plugin says of it. */
function storable({ summary, details }: WebhookResult, charge: (error: unknown) => void): WebhookResult {
  try {
    JSON.stringify(details);
    return { ...(typeof summary === "string" ? { summary } : {}), ...(details ? { details } : {}) };
  } catch (error) {
    charge(error);
    return {};
  }
}

/** Started, and not about to be replaced. */
function isServing(owner: Owner): boolean {
  return owner.ready && owner.hold === undefined && !owner.signal.aborted;
}

/** Rejects when the signal aborts, whatever the work does: what it comes to then is not wanted any more. */
function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new GatewayError("UNAVAILABLE", "stopped"));
    if (signal.aborted) return gone();
    signal.addEventListener("abort", gone, { once: true });
    const settled = (settle: () => void) => {
      signal.removeEventListener("abort", gone);
      settle();
    };
    void Promise.resolve()
      .then(work)
      .then(
        (value) => settled(() => resolve(value)),
        (error: unknown) => settled(() => reject(error as Error)),
      );
  });
}
