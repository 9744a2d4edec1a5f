/** Jobs and their runs in storage. */
import { isGatewayError } from "@svc/sdk";
import type { Owner, SqlValue, Statement, Storage } from "@svc/sdk/storage";
import type { SlotDecision, Span } from "../schedule/slots.ts";
import {
  deliveryOf,
  type Fire,
  type FireRow,
  type JobRow,
  notRun,
  type Settled,
  type StoredJob,
  toFire,
  toJob,
  wakeAtOf,
} from "./records.ts";
import { STEPS } from "./schema.ts";

/** Choice: most records deleted at once. */
const PRUNED_AT_ONCE = 1_000;

const JOB = `SELECT j.*, (SELECT min(f.started_at) FROM cron_fires f WHERE f.job_id = j.id AND f.status = 'running') AS running_at
  FROM cron_jobs j`;

/** The changed fields of a job. */
export type JobChange = Partial<Pick<StoredJob, "definition" | "facts" | "nextAt" | "heldUntil">>;

type Named = Pick<StoredJob["definition"], "id" | "name">;

/** A run to be started. */
export interface NewFire {
  readonly jobId: string;
  readonly dueAt: number;
  readonly runId: string;
  readonly isManual: boolean;
}

export class CronStore {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  get location(): string {
    return this.#storage.location;
  }

  open(): Promise<void> {
    return this.#storage.migrate("cron", STEPS);
  }

  /** Writes all statements or none. @throws GatewayError `CONFLICT` when a row was changed meanwhile */
  async write(statements: readonly Statement[]): Promise<void> {
    await this.#storage.transaction(statements);
  }

  async job(id: string): Promise<StoredJob | undefined> {
    const row = await this.#storage.get<JobRow>(`${JOB} WHERE j.id = ?`, [id]);
    return row && toJob(row);
  }

  async count(): Promise<number> {
    const row = await this.#storage.get<{ n: number | bigint }>("SELECT count(*) AS n FROM cron_jobs");
    return Number(row?.n ?? 0);
  }

  /** At most `limit` jobs with a greater id, by id. */
  async jobsAfter(id: string, limit: number): Promise<StoredJob[]> {
    return (await this.#storage.all<JobRow>(`${JOB} WHERE j.id > ? ORDER BY j.id LIMIT ?`, [id, limit])).map(toJob);
  }

  /** When the next job is due, epoch ms. */
  async nextWake(): Promise<number | undefined> {
    const row = await this.#storage.get<{ at: number | bigint | null }>("SELECT min(wake_at) AS at FROM cron_jobs");
    return row?.at == null ? undefined : Number(row.at);
  }

  /** Ids of due jobs, the most overdue first. */
  async due(now: number, limit: number): Promise<string[]> {
    const sql = "SELECT id FROM cron_jobs WHERE wake_at <= ? ORDER BY wake_at, id LIMIT ?";
    return (await this.#storage.all<{ id: string }>(sql, [now, limit])).map(({ id }) => id);
  }

  /** Jobs that are due after `at`. */
  async dueAfter(at: number): Promise<StoredJob[]> {
    return (await this.#storage.all<JobRow>(`${JOB} WHERE j.wake_at > ?`, [at])).map(toJob);
  }

  /** The zone by which the next runs of jobs without `tz` were computed. */
  async zone(): Promise<string | undefined> {
    return (await this.#storage.get<{ zone: string }>("SELECT zone FROM cron_zone WHERE id = 1"))?.zone;
  }

  setZone(zone: string): Statement {
    const sql = "INSERT INTO cron_zone (id, zone) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET zone = excluded.zone";
    return { sql, params: [zone] };
  }

  insert(job: StoredJob): Statement {
    const { definition, facts, nextAt, heldUntil, revision } = job;
    return {
      sql: `INSERT INTO cron_jobs (id, name, enabled, next_at, held_until, wake_at, updated_at, revision, job, facts, search)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      params: [
        definition.id,
        definition.name,
        definition.enabled ? 1 : 0,
        nextAt ?? null,
        heldUntil,
        wakeAtOf(job) ?? null,
        definition.updatedAtMs,
        revision,
        JSON.stringify(definition),
        JSON.stringify(facts),
        jobSearchText(definition),
      ],
    };
  }

  /** Conflicts when the job was changed since it was read. */
  change(job: StoredJob, change: JobChange): Statement {
    const next = { ...job, ...change };
    const { definition } = next;
    return {
      sql: `UPDATE cron_jobs SET name = ?, enabled = ?, next_at = ?, held_until = ?, wake_at = ?, updated_at = ?, job = ?,
        facts = ?, search = ?, revision = revision + 1 WHERE id = ? AND revision = ?`,
      params: [
        definition.name,
        definition.enabled ? 1 : 0,
        next.nextAt ?? null,
        next.heldUntil,
        wakeAtOf(next) ?? null,
        definition.updatedAtMs,
        JSON.stringify(definition),
        JSON.stringify(next.facts),
        jobSearchText(definition),
        definition.id,
        job.revision,
      ],
      expectChanges: 1,
    };
  }

  remove({ definition, revision }: StoredJob): Statement {
    const sql = "DELETE FROM cron_jobs WHERE id = ? AND revision = ?";
    return { sql, params: [definition.id, revision], expectChanges: 1 };
  }

  /** Recorded spans of a job from `from` on, oldest first. */
  async recorded(jobId: string, from: number): Promise<Span[]> {
    const sql = "SELECT due_at, through_at FROM cron_fires WHERE job_id = ? AND through_at >= ? ORDER BY due_at";
    const rows = await this.#storage.all<{ due_at: number | bigint; through_at: number | bigint }>(sql, [jobId, from]);
    return rows.map(({ due_at: dueAt, through_at: throughAt }) => ({
      dueAt: Number(dueAt),
      throughAt: Number(throughAt),
    }));
  }

  /**
   * Records of a job after `now`, oldest first. `premature`: written while the clock was ahead, of runs that did not take
   * place; the first may begin before `now`.
   */
  async beyond(jobId: string, now: number): Promise<{ readonly premature: Fire[]; readonly kept: Fire[] }> {
    const sql = "SELECT * FROM cron_fires WHERE job_id = ? AND through_at > ? ORDER BY due_at";
    const fires = (await this.#storage.all<FireRow>(sql, [jobId, now])).map(toFire);
    const isPremature = ({ status, settledAt }: Fire) =>
      (status === "skipped" || status === "missed") && (settledAt ?? 0) > now;
    return { premature: fires.filter(isPremature), kept: fires.filter((fire) => !isPremature(fire)) };
  }

  /** Deletes the premature records after `now`. */
  retract(jobId: string, now: number): Statement {
    const sql = `DELETE FROM cron_fires WHERE job_id = ? AND due_at > ? AND settled_at > ? AND status IN ('skipped', 'missed')`;
    return { sql, params: [jobId, now, now] };
  }

  /** Ends a shared record at `throughAt`. @param slots number of runs it then stands for, where known */
  shorten({ jobId, dueAt, entry }: Fire, throughAt: number, slots: number | undefined): Statement {
    const sql = "UPDATE cron_fires SET through_at = ?, entry = ? WHERE job_id = ? AND due_at = ?";
    return { sql, params: [throughAt, JSON.stringify({ ...entry, slots }), jobId, dueAt], expectChanges: 1 };
  }

  /** Conflicts when that run time has a record. */
  accept({ jobId, dueAt, runId, isManual }: NewFire): Statement {
    return {
      sql: `INSERT INTO cron_fires (job_id, due_at, through_at, status, is_manual, run_id, fence)
        VALUES (?, ?, ?, 'waiting', ?, ?, 0) ON CONFLICT (job_id, due_at) DO NOTHING`,
      params: [jobId, dueAt, dueAt, isManual ? 1 : 0, runId],
      expectChanges: 1,
    };
  }

  /** Records a scheduled run that does not take place. Conflicts when that run time has a record. @param at epoch ms */
  recordNotRun(
    { id, name }: Named,
    runId: string,
    decision: Exclude<SlotDecision, { decision: "run" }>,
    at: number,
  ): Statement {
    const { dueAt, throughAt = dueAt, decision: status, reason, slots } = decision;
    const entry = { ...notRun(status, reason, at).entry, ...(slots === undefined ? {} : { slots }) };
    return {
      sql: `INSERT INTO cron_fires (job_id, due_at, through_at, status, is_manual, run_id, fence, settled_at, outcome,
        delivery, entry, search) VALUES (?, ?, ?, ?, 0, ?, 0, ?, 'skipped', 'not-requested', ?, ?)
        ON CONFLICT (job_id, due_at) DO NOTHING`,
      params: [id, dueAt, throughAt, status, runId, at, JSON.stringify(entry), runSearchText(entry, { id, name })],
      expectChanges: 1,
    };
  }

  /** Claims a waiting run. @returns `undefined` when another owner was first */
  async claim(fire: Fire, owner: string, now: number): Promise<Fire | undefined> {
    return this.#own(
      `status = 'running', owner = ?, started_at = ?, fence = fence + 1
       WHERE job_id = ? AND due_at = ? AND fence = ? AND status = 'waiting'`,
      [owner, now, fire.jobId, fire.dueAt, fire.fence],
    );
  }

  /** Takes over a run whose owner has ended. @returns `undefined` when it has not, or another owner was first */
  async takeOver(fire: Fire, owner: Owner): Promise<Fire | undefined> {
    const free = owner.free("owner");
    return this.#own(
      `owner = ?, fence = fence + 1 WHERE job_id = ? AND due_at = ? AND fence = ? AND status = 'running' AND ${free.sql}`,
      [owner.id, fire.jobId, fire.dueAt, fire.fence, ...free.params],
    );
  }

  async #own(rest: string, params: readonly SqlValue[]): Promise<Fire | undefined> {
    const [result] = await this.#storage.transaction([{ sql: `UPDATE cron_fires SET ${rest} RETURNING *`, params }]);
    const row = result?.rows[0];
    return row && toFire(row as FireRow); // the columns of the table
  }

  /** Lets others take over the runs of an owner at once. */
  async release(owner: string): Promise<void> {
    const sql = "UPDATE cron_fires SET owner = NULL WHERE owner = ? AND status = 'running'";
    await this.#storage.transaction([{ sql, params: [owner] }]);
  }

  /** Whether the run is unsettled and has the same fence as `fire`. */
  async owns({ jobId, dueAt, fence }: Fire): Promise<boolean> {
    const sql =
      "SELECT status FROM cron_fires WHERE job_id = ? AND due_at = ? AND fence = ? AND status IN ('waiting', 'running')";
    return (await this.#storage.get(sql, [jobId, dueAt, fence])) !== undefined;
  }

  /** Conflicts when another owner has taken the run over, or settled it. */
  settle({ jobId, dueAt, fence, runId }: Fire, jobName: string, settled: Settled): Statement {
    const { status, at, entry, runKey } = settled;
    return {
      sql: `UPDATE cron_fires SET status = ?, settled_at = ?, outcome = ?, delivery = ?, run_key = ?, entry = ?, search = ?,
        owner = NULL
        WHERE job_id = ? AND due_at = ? AND fence = ? AND run_id = ? AND status IN ('waiting', 'running')`,
      params: [
        status,
        at,
        entry.status,
        deliveryOf(entry),
        runKey ?? null,
        JSON.stringify(entry),
        runSearchText(entry, { id: jobId, name: jobName }),
        jobId,
        dueAt,
        fence,
        runId,
      ],
      expectChanges: 1,
    };
  }

  /** Waiting and running runs, oldest first; of one job or of all. */
  async unsettled(jobId?: string): Promise<Fire[]> {
    const of = jobId === undefined ? "" : "AND job_id = ?";
    const sql = `SELECT * FROM cron_fires WHERE status IN ('waiting', 'running') ${of} ORDER BY due_at`;
    return (await this.#storage.all<FireRow>(sql, jobId === undefined ? [] : [jobId])).map(toFire);
  }

  /** When the latest record was written, epoch ms. */
  async latest(): Promise<number> {
    const sql = "SELECT max(settled_at) AS at FROM cron_fires WHERE settled_at IS NOT NULL";
    const row = await this.#storage.get<{ at: number | bigint | null }>(sql);
    return Number(row?.at ?? 0);
  }

  /** Deletes the oldest records of a job above `kept`. */
  async prune(jobId: string, kept: number): Promise<void> {
    const sql = `DELETE FROM cron_fires WHERE job_id = ? AND due_at IN (SELECT due_at FROM cron_fires
      WHERE job_id = ? AND settled_at IS NOT NULL ORDER BY settled_at DESC, due_at DESC LIMIT ${PRUNED_AT_ONCE} OFFSET ?)`;
    await this.#storage.transaction([{ sql, params: [jobId, jobId, kept] }]);
  }

  /** Sessions of runs that ended before `before` (epoch ms), oldest first, at most `limit` after `skipped`. */
  async oldRunKeys(before: number, limit: number, skipped: number): Promise<string[]> {
    const sql = `SELECT run_key FROM cron_fires WHERE run_key IS NOT NULL AND settled_at < ?
      ORDER BY settled_at, job_id, due_at LIMIT ? OFFSET ?`;
    return (await this.#storage.all<{ run_key: string }>(sql, [before, limit, skipped])).map(({ run_key: key }) => key);
  }

  forgetRunKey(key: string): Statement {
    return { sql: "UPDATE cron_fires SET run_key = NULL WHERE run_key = ?", params: [key] };
  }
}

/** The lower-case text that `cron.list` searches. Spec: §6. */
function jobSearchText({ name, displayName = "", description = "", agentId = "" }: StoredJob["definition"]): string {
  return [name, description, agentId, displayName].join("\n").toLowerCase();
}

/** The lower-case text that `cron.runs` searches. Spec: §8. */
export function runSearchText(
  { summary, error }: Pick<Settled["entry"], "summary" | "error">,
  { id, name }: Named,
): string {
  return [summary, error, id, name].filter(Boolean).join(" ").toLowerCase();
}

/** Whether a write was refused because of a concurrent change. */
export function isConflict(error: unknown): boolean {
  return isGatewayError(error) && error.code === "CONFLICT";
}
