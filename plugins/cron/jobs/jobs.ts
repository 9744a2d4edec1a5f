/** Adds, changes, removes, runs and cancels jobs. Spec: protocol/methods-cron.md §2-5. */
import { type Clock, floorOf, notFound, type Origin, type ResultOf, unavailable } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import type { cron, CronEventPayload, CronJob, CronJobDraft, CronJobPatch, CronSchedule } from "@svc/sdk/cron";
import { checkJob } from "./checks.ts";
import type { JobChanges } from "../store/job-changes.ts";
import { patched } from "./patch.ts";
import { type Definition, type Facts, notRun, shownJob, type StoredJob, wakeAtOf } from "../store/records.ts";
import type { Runner } from "../runs/runner.ts";
import { PAST_MS } from "../schedule/moment.ts";
import { atOf, checkSchedule, loadCalendar, nextSlot, zoned } from "../schedule/calendar.ts";
import { isCovered } from "../schedule/slots.ts";
import { runIdOf, type Scheduler } from "../runs/scheduler.ts";
import type { CronStore } from "../store/store.ts";

/** Choice: most jobs. */
export const MAX_JOBS = 10_000;
const MOVED = "its next run was set by hand";

export interface JobSources {
  readonly store: CronStore;
  readonly changes: JobChanges;
  readonly scheduler: Pick<Scheduler, "wakeBy">;
  readonly runner: Pick<Runner, "pump" | "settled" | "cancel">;
  readonly clock: Clock;
  readonly defaultAgentId: () => string;
  /** The zone of schedules without `tz`, IANA name. */
  readonly timeZone: () => string;
  newId(): string;
  publish(payload: CronEventPayload): void;
}

export class Jobs {
  readonly #sources: JobSources;

  constructor(sources: JobSources) {
    this.#sources = sources;
  }

  /**
   * @param origin source of the job's texts; absent: the owner
   * @throws GatewayError `UNAVAILABLE` for settings that cannot be combined, and at the limit of jobs
   */
  async add(draft: CronJobDraft, origin?: Origin): Promise<CronJob> {
    const { store, clock, newId, publish, scheduler, timeZone } = this.#sources;
    await loadCalendar();
    if ((await store.count()) >= MAX_JOBS)
      unavailable(`there are already ${MAX_JOBS} cron jobs, the maximum; remove one first`);
    const now = clock.now();
    const id = newId();
    const { agentId, sessionKey, ...rest } = draft;
    const definition: Definition = {
      ...rest,
      id,
      ...(agentId ? { agentId } : {}),
      ...(sessionKey ? { sessionKey } : {}),
      ...(origin ? { origin } : {}),
      createdAtMs: now,
      updatedAtMs: now,
      schedule: anchored(draft.schedule, now),
    };
    this.#check(definition);
    const job: StoredJob = {
      definition,
      facts: {},
      nextAt: firstSlot(zoned(definition.schedule, timeZone()), id, now),
      heldUntil: 0,
      runningAt: undefined,
      revision: 0,
    };
    await store.write([store.insert(job)]);
    publish({ jobId: id, action: "added", ...nextRun(job) });
    scheduler.wakeBy(wakeAtOf(job));
    return shownJob(job);
  }

  /** @throws GatewayError `NOT_FOUND` */
  async get(id: string): Promise<CronJob> {
    return shownJob((await this.#sources.store.job(id)) ?? unknown(id));
  }

  /**
   * @param origin source of the texts in the patch; absent: the owner, who then also becomes the source of a replaced payload
   * @throws GatewayError `NOT_FOUND`; `UNAVAILABLE` for settings that cannot be combined
   */
  async update(id: string, patch: CronJobPatch, origin?: Origin): Promise<CronJob> {
    const { changes, clock, publish, scheduler, runner, timeZone } = this.#sources;
    await loadCalendar();
    const job = await changes.change(id, (stored) => {
      if (!stored) return unknown(id);
      const now = clock.now();
      const { state: shown, origin: former, ...rest } = patched(shownJob(stored), patch, now);
      const whose = origin ? floorOf([former, origin]) : patch.payload ? undefined : former;
      const definition: Definition = { ...rest, ...(whose ? { origin: whose } : {}) };
      this.#check(definition);
      const { nextRunAtMs, runningAtMs: _running, ...facts } = shown;
      const schedule = zoned(definition.schedule, timeZone());
      const times = timesAfter(stored, { ...definition, schedule }, patch, nextRunAtMs, now);
      const next = { ...stored, definition, facts: facts satisfies Facts, ...times };
      const passed = skippedByMove(stored, next, patch);
      const beside =
        passed === undefined
          ? []
          : [
              this.#sources.store.recordNotRun(
                definition,
                runIdOf(id, passed),
                { dueAt: passed, decision: "skipped", reason: MOVED },
                now,
              ),
            ];
      return { job: next, beside, result: next };
    });
    publish({ jobId: id, action: "updated", ...nextRun(job) });
    scheduler.wakeBy(wakeAtOf(job));
    runner.pump(id); // settles waiting runs of a job that is now disabled
    return shownJob(job);
  }

  /** @returns whether the job existed */
  async remove(id: string): Promise<boolean> {
    const { changes, publish, runner } = this.#sources;
    const removed = await changes.change(id, (stored) =>
      stored ? { job: "remove", result: true } : { result: false },
    );
    if (!removed) return false;
    publish({ jobId: id, action: "removed" });
    runner.pump(id);
    return true;
  }

  /** Resolves when the run has ended. @throws GatewayError `NOT_FOUND`; `UNAVAILABLE` when the gateway stops first */
  async run(id: string, mode: "due" | "force"): Promise<ResultOf<typeof cron.run>> {
    const { changes, store, clock, runner } = this.#sources;
    await loadCalendar();
    const accepted = await changes.change<Accepted>(id, async (stored) => {
      if (!stored) return unknown(id);
      const now = clock.now();
      const wakeAt = wakeAtOf(stored);
      if (mode === "due" && (wakeAt === undefined || wakeAt > now)) return { result: "not-due" };
      if ((await store.unsettled(id)).length > 0) return { result: "already-running" };
      const recorded = await store.recorded(id, now);
      let dueAt = now;
      while (isCovered(recorded, dueAt) || dueAt === stored.nextAt) dueAt += 1; // one record per run time
      const runId = runIdOf(id, dueAt);
      return { beside: [store.accept({ jobId: id, dueAt, runId, isManual: true })], result: { runId } };
    });
    if (typeof accepted === "string") return { ok: true, ran: false, reason: accepted };
    const settled = runner.settled(accepted.runId);
    runner.pump(id);
    await settled;
    return { ok: true, ran: true };
  }

  /** Aborts the current run of a job and skips waiting runs. @returns the number of these runs. @throws GatewayError `NOT_FOUND` */
  async cancel(id: string): Promise<number> {
    const { changes, store, clock, runner } = this.#sources;
    const dropped = await changes.change(id, async (stored) => {
      if (!stored) return notFound(`there is no cron job ${id}; see cron.list`);
      const waiting = (await store.unsettled(id)).filter(({ status }) => status === "waiting");
      const settled = notRun("skipped", "it was cancelled", clock.now());
      return {
        beside: waiting.map((fire) => store.settle(fire, stored.definition.name, settled)),
        result: waiting.length,
      };
    });
    return dropped + runner.cancel(id);
  }

  #check(job: Parameters<typeof checkJob>[0]): void {
    checkJob(job, { defaultAgentId: this.#sources.defaultAgentId(), checkSchedule });
  }
}

/** Spec: §3 for the message. */
function unknown(id: string): never {
  throw refusal("CRON_JOB_NOT_FOUND", `Error: unknown cron job id: ${id}`, { jobId: id });
}

function anchored(schedule: CronSchedule, now: number): CronSchedule {
  return schedule.kind === "every" ? { ...schedule, anchorMs: schedule.anchorMs ?? now } : schedule;
}

/** A moment that has just passed is due at once. `refusedMoment` limits how far back it may be. */
function firstSlot(schedule: CronSchedule, id: string, now: number): number | undefined {
  return schedule.kind === "at" ? atOf(schedule) : nextSlot(schedule, id, now);
}

function timesAfter(
  stored: StoredJob,
  { schedule, enabled, id }: Definition,
  patch: CronJobPatch,
  wanted: number | undefined,
  now: number,
): Pick<StoredJob, "nextAt" | "heldUntil"> {
  const { nextAt, heldUntil } = stored;
  if (patch.state?.nextRunAtMs !== undefined && wanted !== undefined)
    return { nextAt: Math.max(now, wanted), heldUntil: 0 };
  if (patch.schedule === undefined && patch.enabled === undefined) return { nextAt, heldUntil };
  if (!enabled) return { nextAt: undefined, heldUntil: 0 };
  // A job that stays enabled keeps a due run.
  if (patch.schedule === undefined && stored.definition.enabled) return { nextAt, heldUntil };
  const next =
    schedule.kind === "at" && (atOf(schedule) ?? 0) < now - PAST_MS ? undefined : firstSlot(schedule, id, now);
  return { nextAt: next, heldUntil: 0 };
}

/** The scheduled run that is skipped because the next run was set by hand to a later time. */
function skippedByMove(before: StoredJob, { nextAt }: StoredJob, patch: CronJobPatch): number | undefined {
  const isMoved = patch.state?.nextRunAtMs !== undefined && patch.schedule === undefined && before.definition.enabled;
  return isMoved && before.nextAt !== undefined && nextAt !== undefined && nextAt > before.nextAt
    ? before.nextAt
    : undefined;
}

function nextRun(job: StoredJob): { readonly nextRunAtMs?: number } {
  const nextRunAtMs = wakeAtOf(job);
  return nextRunAtMs === undefined ? {} : { nextRunAtMs };
}

/** An accepted run by hand, or why it was refused. */
type Accepted = { readonly runId: string } | "not-due" | "already-running";
