/**
 * Looks at jobs when they are due: each of their times gets its record, and the next one is set, in one transaction.
 *
 * One timer for all jobs, and none while there are no jobs: it looks at the clock at least once a minute, since a clock
 * may be set and a machine may sleep.
 */
import { type Clock, isGatewayError, type Logger, messageOf } from "@svc/sdk";
import type { CronEventPayload } from "@svc/sdk/cron";
import type { JobChanges } from "./job-changes.ts";
import { type StoredJob, wakeAtOf } from "./records.ts";
import type { Runner } from "./runner.ts";
import { nextSlot } from "./schedule.ts";
import { settleSlots, type SlotFate } from "./slots.ts";
import type { CronStore } from "./store.ts";

/** Spec: protocol/methods-cron.md §10. */
export const LONGEST_SLEEP_MS = 60_000;
/** Choice: milliseconds until storage that refuses is asked again. */
const RETRY_MS = 5_000;
/** Choice: jobs of one look; more are looked at right afterwards. */
const BATCH = 100;
/** Choice: milliseconds a clock may go back before times that are too far away are looked at again. */
const SET_BACK_MS = 60_000;
export const OVERLAP = "it was still running";
const CROWDED = "too many of its times wait";
/** Choice: times of one job that may wait. */
const MAX_WAITING = 100;
/** Spec: §10: in a row. */
const MAX_SCHEDULE_ERRORS = 3;

export interface SchedulerSources {
  readonly store: CronStore;
  readonly changes: JobChanges;
  readonly runner: Pick<Runner, "pump" | "cancel">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Tells the main session something, once for each id. */
  tellMain(id: string, text: string): Promise<void>;
  publish(payload: CronEventPayload): void;
}

/** Id of the run of a time, and of all that follows from it. */
export function runIdOf(jobId: string, dueAt: number): string {
  return `cron:${jobId}:${dueAt}`;
}

export class Scheduler {
  readonly #sources: SchedulerSources;
  #cancel: (() => void) | undefined;
  /** epoch ms the timer was set for */
  #wakeAt = Infinity;
  #looking: Promise<void> | undefined;
  #isOpen = false;
  #isStopped = false;
  /** Wall clock minus monotonic clock: smaller after the clock was set back. */
  #drift = 0;

  constructor(sources: SchedulerSources) {
    this.#sources = sources;
  }

  async open(): Promise<void> {
    const { clock, store } = this.#sources;
    if (this.#isStopped) return;
    this.#isOpen = true;
    this.#drift = clock.now() - clock.elapsed();
    // Something was recorded in what is the future now: the clock was ahead then.
    if ((await store.latest()) > clock.now() + SET_BACK_MS) await this.#rewind();
    await this.#arm();
  }

  /** To be called when a job was added or changed. @param wakeAt epoch ms it is due at */
  noticed(wakeAt: number | undefined): void {
    if (wakeAt !== undefined && wakeAt < this.#wakeAt) this.#sleep(wakeAt);
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    this.#isOpen = false;
    this.#cancel?.();
    return this.#looking ?? Promise.resolve();
  }

  #sleep(wakeAt: number): void {
    if (!this.#isOpen) return;
    const { clock } = this.#sources;
    this.#cancel?.();
    this.#wakeAt = wakeAt;
    const ms = Math.min(LONGEST_SLEEP_MS, Math.max(0, wakeAt - clock.now()));
    this.#cancel = clock.setTimeout(() => {
      this.#wakeAt = Infinity;
      this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    }, ms);
  }

  async #arm(): Promise<void> {
    const wakeAt = await this.#sources.store.nextWake();
    if (wakeAt !== undefined && wakeAt < this.#wakeAt) this.#sleep(wakeAt);
  }

  async #look(): Promise<void> {
    const { store, clock, log } = this.#sources;
    try {
      const drift = clock.now() - clock.elapsed();
      const wasSetBack = drift < this.#drift - SET_BACK_MS;
      this.#drift = drift;
      if (wasSetBack) await this.#rewind();
      for (let due = await store.due(clock.now(), BATCH); due.length > 0 && this.#isOpen;) {
        await Promise.all(
          due.map((jobId) => this.#settle(jobId).catch((error: unknown) => this.#failed(jobId, error))),
        );
        due = await store.due(clock.now(), BATCH);
      }
      await this.#arm();
    } catch (error) {
      log.warn({ err: error }, "cron jobs could not be looked at; it is tried again");
      this.#sleep(clock.now() + ((isGatewayError(error) ? error.retryAfterMs : undefined) ?? RETRY_MS));
    }
  }

  /** Gives every time until now its record. */
  async #settle(jobId: string): Promise<void> {
    const { store, changes, clock, runner, publish } = this.#sources;
    const passed = await changes.change(jobId, async (job) => {
      const now = clock.now();
      const wakeAt = job && wakeAtOf(job);
      if (!job || wakeAt === undefined || wakeAt > now) return { result: [] };
      const { fates, nextAt } = await this.#fates(job, now);
      const statements = fates.map((fate) =>
        fate.fate === "run"
          ? store.accept({ jobId, dueAt: fate.dueAt, runId: runIdOf(jobId, fate.dueAt), isManual: false })
          : store.pass(job.definition, runIdOf(jobId, fate.dueAt), fate, now),
      );
      // A job that runs once has had its time: it is not to look as if it were still to come.
      const isOver = job.definition.schedule.kind === "at" && !fates.some(({ fate }) => fate === "run");
      const over = isOver ? { definition: { ...job.definition, enabled: false, updatedAtMs: now } } : {};
      return { job: { nextAt, ...over }, beside: statements, result: fates };
    });
    const last = passed.findLast(({ fate }) => fate !== "run");
    if (last && last.fate !== "run")
      publish({
        jobId,
        action: "finished",
        status: "skipped",
        record: last.fate,
        reason: last.reason,
        dueAtMs: last.dueAt,
      });
    if (passed.some(({ fate }) => fate === "run")) runner.pump(jobId);
  }

  /**
   * A schedule that cannot be read any more, e.g. since a zone is gone. It holds up no other job. Spec: §10.
   * @throws what storage has refused with
   */
  async #failed(jobId: string, error: unknown): Promise<void> {
    if (isGatewayError(error)) throw error;
    const { changes, clock, log, tellMain } = this.#sources;
    const now = clock.now();
    const told = await changes.change(jobId, (job) => {
      if (!job) return { result: undefined };
      const scheduleErrorCount = (job.facts.scheduleErrorCount ?? 0) + 1;
      const enabled = job.definition.enabled && scheduleErrorCount < MAX_SCHEDULE_ERRORS;
      const facts = { ...job.facts, scheduleErrorCount, lastError: `schedule: ${messageOf(error)}` };
      const heldUntil = now + LONGEST_SLEEP_MS;
      const change = { definition: { ...job.definition, enabled }, facts, heldUntil };
      return { job: change, result: { name: job.definition.name, enabled } };
    });
    log.error({ err: error, jobId }, "the next time of a cron job cannot be computed");
    if (told && !told.enabled)
      await tellMain(`${jobId}:schedule:${now}`, `Cron job "${told.name}" was disabled: ${messageOf(error)}`);
  }

  /** By the job's policies; times that have a record, from before the clock was set back, keep it. */
  async #fates(
    job: StoredJob,
    now: number,
  ): Promise<{ readonly fates: readonly SlotFate[]; readonly nextAt: number | undefined }> {
    const { store, runner } = this.#sources;
    const { definition, nextAt: due = now, heldUntil } = job;
    const { id, schedule, catchUp, overlap = "skip" } = definition;
    const { fates: all, nextAt } = settleSlots({ id, schedule, catchUp, nextAt: due, heldUntil }, now);
    const isRecorded = await store.recorded(id, due);
    const fates = all.filter(({ dueAt }) => !isRecorded(dueAt));
    const open = await store.unsettled(id);
    if (open.length === 0) return { fates, nextAt };
    if (overlap === "replace" && fates.some(({ fate }) => fate === "run")) runner.cancel(id);
    let waiting = open.filter(({ status }) => status === "waiting").length;
    const kept = fates.map((fate): SlotFate => {
      if (fate.fate !== "run") return fate;
      const { dueAt } = fate;
      if (overlap === "skip" && catchUp?.mode !== "all") return { dueAt, fate: "skipped", reason: OVERLAP };
      waiting += 1;
      return waiting > MAX_WAITING ? { dueAt, fate: "skipped", reason: CROWDED } : fate;
    });
    return { fates: kept, nextAt };
  }

  /**
   * The clock was set back: a job whose next time is further away than its schedule says is due earlier now, unless the
   * times until then were recorded already. No time is passed over, so nothing is recorded.
   */
  async #rewind(): Promise<void> {
    const { store, changes, clock, log } = this.#sources;
    const jobs = await store.dueAfter(clock.now());
    for (const { definition } of jobs) {
      await changes.change(definition.id, async (job) => {
        const earlier = job && (await this.#earlier(job, clock.now()));
        return { ...(earlier === undefined ? {} : { job: { nextAt: earlier } }), result: undefined };
      });
    }
    log.warn({ jobs: jobs.length }, "the clock was set back; the next times of cron jobs were looked at again");
  }

  async #earlier({ definition, nextAt }: StoredJob, now: number): Promise<number | undefined> {
    const { id, schedule } = definition;
    if (nextAt === undefined || schedule.kind === "at") return undefined;
    const isRecorded = await this.#sources.store.recorded(id, now);
    // As many as can have a record of their own; further on the time it has is as good as any.
    let slot = nextSlot(schedule, id, now);
    for (let step = 0; slot !== undefined && slot < nextAt && step < 1_000; step += 1) {
      if (!isRecorded(slot)) return slot;
      slot = nextSlot(schedule, id, slot);
    }
    return undefined;
  }
}
