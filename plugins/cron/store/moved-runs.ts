/** Runs that move into the tables and out of them. */
import { CronRunEntry } from "@svc/sdk/cron";
import type { CronRunRecord } from "@svc/sdk/import";
import type { Statement, Storage } from "@svc/sdk/storage";
import { picked } from "../fields.ts";
import { deliveryOf, type FireRow, shownFire } from "./records.ts";
import { runSearchText } from "./store.ts";

/** Choice: runs that took place, and runs that were skipped. A missed run is no run; it stays where it was missed. */
const MOVED = "status IN ('ran', 'skipped')";
/** Fields of an entry that the other columns hold. */
const ELSEWHERE = ["ts", "jobId", "jobName", "action", "record", "dueAtMs", "throughAtMs", "manual"];
const KEPT = Object.keys(CronRunEntry.properties).filter((key) => !ELSEWHERE.includes(key));
const USAGE = Object.keys(CronRunEntry.properties.usage.properties);

/** A place in the order of runs: after this one. */
export interface RunPosition {
  readonly jobId: string;
  readonly dueAt: number;
}

/** The recorded runs of a job. */
export interface KnownRuns {
  readonly runIds: Set<string>;
  /** Times of all records, epoch ms. */
  readonly times: Set<number>;
}

export async function knownRuns(storage: Storage, jobId: string): Promise<KnownRuns> {
  const sql = "SELECT run_id, due_at FROM cron_fires WHERE job_id = ?";
  const rows = await storage.all<Pick<FireRow, "run_id" | "due_at">>(sql, [jobId]);
  return { runIds: new Set(rows.map((row) => row.run_id)), times: new Set(rows.map((row) => Number(row.due_at))) };
}

export async function countRuns(storage: Storage): Promise<number> {
  const row = await storage.get<{ n: number | bigint }>(`SELECT count(*) AS n FROM cron_fires WHERE ${MOVED}`);
  return Number(row?.n ?? 0);
}

/** Runs of jobs that are still here, by job and time. */
export async function runsAfter(storage: Storage, after: RunPosition | undefined, limit: number): Promise<FireRow[]> {
  const from = after ? "AND (job_id, due_at) > (?, ?)" : "";
  const sql = `SELECT * FROM cron_fires WHERE ${MOVED} AND job_id IN (SELECT id FROM cron_jobs) ${from}
    ORDER BY job_id, due_at LIMIT ?`;
  return storage.all<FireRow>(sql, after ? [after.jobId, after.dueAt, limit] : [limit]);
}

/** The run as another gateway can import it. */
export function givenRun(row: FireRow): CronRunRecord {
  return { id: row.run_id, entry: shownFire(row) };
}

/** When a run was due, as far as its entry tells, epoch ms. */
export function dueAtOf({ dueAtMs, runAtMs, ts }: CronRunEntry): number {
  return dueAtMs ?? runAtMs ?? ts;
}

/**
 * Records a run that has ended. Conflicts when that time has a record.
 * @param dueAt epoch ms
 * @returns the statement, and the fields of the entry that have no place here
 */
export function insertRun(
  { id, entry: given }: CronRunRecord,
  dueAt: number,
  jobName: string,
): { readonly statement: Statement; readonly unknown: readonly string[] } {
  const { jobId, ts, runAtMs, throughAtMs, manual } = given;
  const [kept, others] = picked<Partial<CronRunEntry>>(given, KEPT);
  const [usage, unknownUsage] = picked<NonNullable<CronRunEntry["usage"]>>(kept.usage ?? {}, USAGE);
  const entry = kept.usage ? { ...kept, usage } : kept;
  const status = given.record ?? (given.status === "skipped" ? "skipped" : "ran");
  return {
    statement: {
      sql: `INSERT INTO cron_fires (job_id, due_at, through_at, status, is_manual, run_id, fence, started_at,
        settled_at, outcome, delivery, entry, search) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (job_id, due_at) DO NOTHING`,
      params: [
        jobId,
        dueAt,
        Math.max(dueAt, throughAtMs ?? dueAt),
        status,
        manual === true ? 1 : 0,
        id,
        runAtMs ?? null,
        ts,
        given.status ?? null,
        deliveryOf(given),
        JSON.stringify(entry),
        runSearchText(entry, { id: jobId, name: jobName }),
      ],
      expectChanges: 1,
    },
    unknown: [...others.filter((key) => !ELSEWHERE.includes(key)), ...unknownUsage.map((key) => `usage.${key}`)],
  };
}
