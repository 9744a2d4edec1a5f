/**
 * Settles due jobs: records every scheduled run and sets the next one, in one transaction.
 *
 * One timer serves all jobs; without scheduled jobs there is none. It checks the clock at least once a minute, since the
 * clock may be set and the machine may sleep.
 */
import { type Clock, isGatewayError, type Logger, messageOf } from "@svc/sdk";
import type { CronEventPayload } from "@svc/sdk/cron";
import type { JobChanges } from "../store/job-changes.ts";
import { type StoredJob, wakeAtOf } from "../store/records.ts";
import type { Runner } from "./runner.ts";
import { rewind } from "./rewind.ts";
import { rezone } from "./rezone.ts";
import { zoned } from "../schedule/calendar.ts";
import { settleSlots, type SlotDecision } from "../schedule/slots.ts";
import type { CronStore } from "../store/store.ts";

/** Spec: protocol/methods-cron.md §10. */
export const LONGEST_SLEEP_MS = 60_000;
/** Choice: milliseconds until a failed storage operation is retried. */
const RETRY_MS = 5_000;
/** Choice: jobs settled at once; further due jobs follow immediately. */
const BATCH = 100;
/** Choice: milliseconds the clock may go back before the next runs are recomputed. */
const SET_BACK_MS = 60_000;
export const OVERLAP = "it was still running";
const CROWDED = "too many of its runs are waiting";
/** Choice: most waiting runs of one job. */
const MAX_WAITING = 100;
/** Spec: §10: most errors in a row. */
const MAX_SCHEDULE_ERRORS = 3;

export interface SchedulerSources {
  readonly store: CronStore;
  readonly changes: JobChanges;
  readonly runner: Pick<Runner, "pump" | "cancel">;
  readonly clock: Clock;
  readonly log: Logger;
  /** The zone of schedules without `tz`, IANA name. */
  readonly timeZone: () => string;
  /** Adds an event to the main session, once for each id. */
  notifyMain(id: string, text: string): Promise<void>;
  publish(payload: CronEventPayload): void;
}

/** The id of a run. It derives from the scheduled time, so that a crash cannot repeat the run. */
export function runIdOf(jobId: string, dueAt: number): string {
  return `cron:${jobId}:${dueAt}`;
}

export class Scheduler {
  readonly #sources: SchedulerSources;
  #cancel: (() => void) | undefined;
  /** When the timer fires, epoch ms. */
  #wakeAt = Infinity;
  #checking: Promise<void> | undefined;
  #isOpen = false;
  #isStopped = false;
  /** Wall clock minus monotonic clock; it falls when the clock is set back. */
  #drift = 0;

  constructor(sources: SchedulerSources) {
    this.#sources = sources;
  }

  async open(): Promise<void> {
    const { clock, store } = this.#sources;
    if (this.#isStopped) return;
    this.#isOpen = true;
    this.#drift = clock.now() - clock.elapsed();
    // A record in the future: the clock was ahead when it was written.
    if ((await store.latest()) > clock.now() + SET_BACK_MS) await rewind(this.#sources);
    await this.checkZone();
  }

  /** Call this when the user's zone may have changed. */
  async checkZone(): Promise<void> {
    if (!this.#isOpen) return;
    await rezone(this.#sources);
    await this.#arm();
  }

  /** Call this when a job was added or changed. @param wakeAt when it is due, epoch ms */
  wakeBy(wakeAt: number | undefined): void {
    if (wakeAt !== undefined && wakeAt < this.#wakeAt) this.#sleep(wakeAt);
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    this.#isOpen = false;
    this.#cancel?.();
    return this.#checking ?? Promise.resolve();
  }

  #sleep(wakeAt: number): void {
    if (!this.#isOpen) return;
    const { clock } = this.#sources;
    this.#cancel?.();
    this.#wakeAt = wakeAt;
    const ms = Math.min(LONGEST_SLEEP_MS, Math.max(0, wakeAt - clock.now()));
    this.#cancel = clock.setTimeout(() => {
      this.#wakeAt = Infinity;
      this.#checking ??= this.#check().finally(() => (this.#checking = undefined));
    }, ms);
  }

  async #arm(): Promise<void> {
    const wakeAt = await this.#sources.store.nextWake();
    if (wakeAt !== undefined && wakeAt < this.#wakeAt) this.#sleep(wakeAt);
  }

  async #check(): Promise<void> {
    const { store, clock, log } = this.#sources;
    try {
      const drift = clock.now() - clock.elapsed();
      const wasSetBack = drift < this.#drift - SET_BACK_MS;
      this.#drift = drift;
      if (wasSetBack) await rewind(this.#sources);
      for (let due = await store.due(clock.now(), BATCH); due.length > 0 && this.#isOpen;) {
        await Promise.all(
          due.map((jobId) => this.#settle(jobId).catch((error: unknown) => this.#failed(jobId, error))),
        );
        due = await store.due(clock.now(), BATCH);
      }
      await this.#arm();
    } catch (error) {
      log.warn({ err: error }, "cron jobs could not be checked; retrying");
      this.#sleep(clock.now() + ((isGatewayError(error) ? error.retryAfterMs : undefined) ?? RETRY_MS));
    }
  }

  /** Records every scheduled run until now, and starts those that take place. */
  async #settle(jobId: string): Promise<void> {
    const { store, changes, clock, runner, publish } = this.#sources;
    const passed = await changes.change(jobId, async (job) => {
      const now = clock.now();
      const wakeAt = job && wakeAtOf(job);
      if (!job || wakeAt === undefined || wakeAt > now) return { result: [] };
      const { decisions, nextAt } = await this.#decisions(job, now);
      const statements = decisions.map((decision) =>
        decision.decision === "run"
          ? store.accept({ jobId, dueAt: decision.dueAt, runId: runIdOf(jobId, decision.dueAt), isManual: false })
          : store.recordNotRun(job.definition, runIdOf(jobId, decision.dueAt), decision, now),
      );
      // A job that runs once is done: disabled, it does not look as if it were still to run.
      const isOver = job.definition.schedule.kind === "at" && !decisions.some(({ decision }) => decision === "run");
      const over = isOver ? { definition: { ...job.definition, enabled: false, updatedAtMs: now } } : {};
      return { job: { nextAt, ...over }, beside: statements, result: decisions };
    });
    const last = passed.findLast(({ decision }) => decision !== "run");
    if (last && last.decision !== "run")
      publish({
        jobId,
        action: "finished",
        status: "skipped",
        record: last.decision,
        reason: last.reason,
        dueAtMs: last.dueAt,
      });
    if (passed.some(({ decision }) => decision === "run")) runner.pump(jobId);
  }

  /**
   * Handles a schedule that has become invalid, e.g. because a zone was removed. Other jobs go on. Spec: §10.
   * @throws the error of the storage
   */
  async #failed(jobId: string, error: unknown): Promise<void> {
    if (isGatewayError(error)) throw error;
    const { changes, clock, log, notifyMain } = this.#sources;
    const now = clock.now();
    const failed = await changes.change(jobId, (job) => {
      if (!job) return { result: undefined };
      const scheduleErrorCount = (job.facts.scheduleErrorCount ?? 0) + 1;
      const enabled = job.definition.enabled && scheduleErrorCount < MAX_SCHEDULE_ERRORS;
      const facts = { ...job.facts, scheduleErrorCount, lastError: `schedule: ${messageOf(error)}` };
      const heldUntil = now + LONGEST_SLEEP_MS;
      const change = { definition: { ...job.definition, enabled }, facts, heldUntil };
      return { job: change, result: { name: job.definition.name, enabled } };
    });
    log.error({ err: error, jobId }, "the next run of a cron job cannot be computed");
    if (failed && !failed.enabled)
      await notifyMain(`${jobId}:schedule:${now}`, `Cron job "${failed.name}" was disabled: ${messageOf(error)}`);
  }

  /** Applies `catchUp` and `overlap`. Slots with a record, from before the clock was set back, keep it. */
  async #decisions(
    job: StoredJob,
    now: number,
  ): Promise<{ readonly decisions: readonly SlotDecision[]; readonly nextAt: number | undefined }> {
    const { store, runner, timeZone } = this.#sources;
    const { definition, nextAt: due = now, heldUntil } = job;
    const { id, catchUp, overlap = "skip" } = definition;
    const schedule = zoned(definition.schedule, timeZone());
    const recorded = await store.recorded(id, due);
    const { decisions, nextAt } = settleSlots({ id, schedule, catchUp, nextAt: due, heldUntil, recorded }, now);
    const open = await store.unsettled(id);
    if (open.length === 0) return { decisions, nextAt };
    if (overlap === "replace" && decisions.some(({ decision }) => decision === "run")) runner.cancel(id);
    let waiting = open.filter(({ status }) => status === "waiting").length;
    const kept = decisions.map((decision): SlotDecision => {
      if (decision.decision !== "run") return decision;
      const { dueAt } = decision;
      if (overlap === "skip" && catchUp?.mode !== "all") return { dueAt, decision: "skipped", reason: OVERLAP };
      waiting += 1;
      return waiting > MAX_WAITING ? { dueAt, decision: "skipped", reason: CROWDED } : decision;
    });
    return { decisions: kept, nextAt };
  }
}
