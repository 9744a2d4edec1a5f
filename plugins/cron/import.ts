/** Takes jobs and their runs from another gateway, and gives them. Imported on first use. */
import { type Clock, invalidRequest, isGatewayError } from "@svc/sdk";
import type { CronEventPayload } from "@svc/sdk/cron";
import type { CronJobRecord, CronRunRecord, GivenRecords, ImportOutcome } from "@svc/sdk/import";
import type { Statement, Storage } from "@svc/sdk/storage";
import { givenJob, type ImportedJob, importedJob } from "./jobs/imported.ts";
import { MAX_JOBS } from "./jobs/jobs.ts";
import { runIdOf, type Scheduler } from "./runs/scheduler.ts";
import { loadCalendar } from "./schedule/calendar.ts";
import { isCovered } from "./schedule/slots.ts";
import type { JobChanges } from "./store/job-changes.ts";
import {
  countRuns,
  dueAtOf,
  givenRun,
  insertRun,
  type KnownRuns,
  knownRuns,
  type RunPosition,
  runsAfter,
} from "./store/moved-runs.ts";
import { wakeAtOf } from "./store/records.ts";
import type { CronStore } from "./store/store.ts";

/** Choice: records of a page. */
const PAGE = 200;

export interface ImportSources {
  readonly storage: Storage;
  readonly store: CronStore;
  readonly changes: JobChanges;
  readonly scheduler: Pick<Scheduler, "wakeBy">;
  readonly clock: Pick<Clock, "now">;
  readonly defaultAgentId: () => string;
  /** The zone of schedules without `tz`, IANA name. */
  readonly timeZone: () => string;
  publish(payload: CronEventPayload): void;
}

/** The jobs. Unit of the count: jobs. */
export function jobImporter(sources: ImportSources) {
  const { store } = sources;
  return {
    count: () => store.count(),
    async take(records: readonly CronJobRecord[]): Promise<readonly ImportOutcome[]> {
      await loadCalendar();
      const outcomes: ImportOutcome[] = [];
      for (const record of records) outcomes.push({ id: record.id, ...(await takeJob(record, sources)) });
      return outcomes;
    },
    async give(after = ""): Promise<GivenRecords<CronJobRecord>> {
      const records = (await store.jobsAfter(after, PAGE)).map(givenJob);
      const next = records.length < PAGE ? undefined : records.at(-1)?.id;
      return { records, ...(next === undefined ? {} : { next }) };
    },
  };
}

type Outcome = Omit<ImportOutcome, "id">;

async function takeJob(record: CronJobRecord, sources: ImportSources): Promise<Outcome> {
  const { changes, store, clock, scheduler, publish } = sources;
  const { id } = record;
  const taken = await changes.change<Outcome | ImportedJob>(id, async (stored) => {
    if (stored) return { result: { action: "skip", reason: "a job with this id is here already" } };
    const now = clock.now();
    const imported = attempt(() =>
      importedJob(record, { now, timeZone: sources.timeZone(), defaultAgentId: sources.defaultAgentId() }),
    );
    if ("action" in imported) return { result: imported };
    if ((await store.count()) >= MAX_JOBS)
      return { result: { action: "refuse", reason: `there are already ${MAX_JOBS} cron jobs, the maximum` } };
    const { job, missed } = imported;
    const isNew = missed && !isCovered(await store.recorded(id, missed.dueAt), missed.dueAt);
    const beside = isNew ? [store.recordNotRun(job.definition, runIdOf(id, missed.dueAt), missed, now)] : [];
    return { beside: [store.insert(job), ...beside], result: imported };
  });
  if ("action" in taken) return taken;
  const wakeAt = wakeAtOf(taken.job);
  publish({ jobId: id, action: "added", ...(wakeAt === undefined ? {} : { nextRunAtMs: wakeAt }) });
  scheduler.wakeBy(wakeAt);
  return outcomeOf(taken.changes);
}

/** What a check refuses; other errors concern every record. */
function attempt<T>(work: () => T): T | Outcome {
  try {
    return work();
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return { action: "refuse", reason: error.message };
  }
}

function outcomeOf(changes: readonly string[]): Outcome {
  return changes.length === 0 ? { action: "take" } : { action: "convert", reason: changes.join("; ") };
}

/**
 * The runs that took place or were skipped. Unit of the count: runs. Choice: a missed run is none of them, so that
 * the missed runs that `jobImporter` records do not count as taken here.
 */
export function runImporter({ storage, changes, clock }: ImportSources) {
  return {
    count: () => countRuns(storage),
    async take(records: readonly CronRunRecord[]): Promise<readonly ImportOutcome[]> {
      const outcomes = new Map<CronRunRecord, Outcome>();
      for (const jobId of new Set(records.map(({ entry }) => entry.jobId))) {
        const ofJob = records.filter(({ entry }) => entry.jobId === jobId);
        const taken = await changes.change(jobId, async (job) => {
          if (!job) return { result: ofJob.map((record) => [record, NO_JOB] as const) };
          const known = await knownRuns(storage, jobId);
          const decided = ofJob.map((record) => ({
            record,
            ...decide(record, job.definition.name, known, clock.now()),
          }));
          return {
            beside: decided.flatMap(({ statement }) => statement ?? []),
            result: decided.map(({ record, outcome }) => [record, outcome] as const),
          };
        });
        for (const [record, outcome] of taken) outcomes.set(record, outcome);
      }
      return records.map((record) => ({ id: record.id, ...(outcomes.get(record) ?? NO_JOB) }));
    },
    async give(after?: string): Promise<GivenRecords<CronRunRecord>> {
      const rows = await runsAfter(storage, after === undefined ? undefined : positionOf(after), PAGE);
      const last = rows.length < PAGE ? undefined : rows.at(-1);
      return { records: rows.map(givenRun), ...(last ? { next: `${last.due_at}:${last.job_id}` } : {}) };
    },
  };
}

const NO_JOB: Outcome = { action: "drop", reason: "its job is not here" };

/** @param known completed with the time and the id of a run that is taken */
function decide(
  record: CronRunRecord,
  jobName: string,
  known: KnownRuns,
  now: number,
): { readonly outcome: Outcome; readonly statement?: Statement } {
  const { id, entry } = record;
  if (entry.record === "missed") return { outcome: { action: "drop", reason: "it was missed" } };
  if (known.runIds.has(id)) return { outcome: { action: "skip", reason: "a run with this id is here already" } };
  let dueAt = dueAtOf(entry);
  if (Math.max(entry.ts, dueAt, entry.throughAtMs ?? 0) > now)
    return { outcome: { action: "refuse", reason: "its time lies in the future; check the clocks of both machines" } };
  while (known.times.has(dueAt)) dueAt += 1; // one record per run time
  known.times.add(dueAt);
  known.runIds.add(id);
  const { statement, unknown } = insertRun(record, dueAt, jobName);
  return { statement, outcome: outcomeOf(unknown.length === 0 ? [] : [`without ${unknown.join(", ")}`]) };
}

/** @throws GatewayError `INVALID_REQUEST` */
function positionOf(after: string): RunPosition {
  const [, dueAt, jobId] = /^(-?\d{1,16}):(.+)$/s.exec(after) ?? [];
  if (dueAt === undefined || jobId === undefined)
    return invalidRequest("after is no position in the runs; use `next` of the page before");
  return { jobId, dueAt: Number(dueAt) };
}
