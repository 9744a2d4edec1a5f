/** The tables of cron. Only append steps. */
import type { ExpiringRows, Retention } from "@svc/sdk/storage";

/**
 * `cron_jobs.next_at`: the first scheduled run without a record; `held_until`: end of the back-off; `wake_at`: the later of the
 * two, null for a job that is not due by itself. `job`: JSON of what people set; `facts`: JSON of how the last run went.
 * `revision`: raised by every change, for optimistic locking.
 *
 * `cron_fires`: one row for each job and scheduled run. `status`: `waiting`: to be run; `running`: by the `owner`; `ran`, `skipped`,
 * `missed`: settled. `lease_until` is of earlier versions. `fence`: raised by each new owner. `through_at`: the row
 * stands for all scheduled runs up to this time. `search`: lower-case text that `cron.runs` searches.
 *
 * `cron_zone`: one row, the zone by which the next runs of jobs without `tz` were computed.
 */
export const STEPS = [
  `CREATE TABLE cron_jobs (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    next_at BIGINT,
    held_until BIGINT NOT NULL,
    wake_at BIGINT,
    updated_at BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    job TEXT NOT NULL,
    facts TEXT NOT NULL,
    search TEXT NOT NULL
  )`,
  "CREATE INDEX cron_jobs_wake ON cron_jobs (wake_at) WHERE wake_at IS NOT NULL",
  `CREATE TABLE cron_fires (
    job_id TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    through_at BIGINT NOT NULL,
    status TEXT NOT NULL,
    is_manual INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    fence BIGINT NOT NULL,
    owner TEXT,
    lease_until BIGINT,
    started_at BIGINT,
    settled_at BIGINT,
    outcome TEXT,
    delivery TEXT,
    run_key TEXT,
    entry TEXT,
    search TEXT,
    PRIMARY KEY (job_id, due_at)
  )`,
  "CREATE INDEX cron_fires_open ON cron_fires (job_id, due_at) WHERE status IN ('waiting', 'running')",
  "CREATE INDEX cron_fires_settled ON cron_fires (settled_at, job_id) WHERE settled_at IS NOT NULL",
  "CREATE INDEX cron_fires_of_job ON cron_fires (job_id, settled_at) WHERE settled_at IS NOT NULL",
  "CREATE INDEX cron_fires_sessions ON cron_fires (settled_at) WHERE run_key IS NOT NULL",
  "CREATE TABLE cron_zone (id INTEGER PRIMARY KEY, zone TEXT NOT NULL)",
];

const DAY_MS = 86_400_000;
const FIRES: Pick<ExpiringRows, "table" | "key"> = { table: "cron_fires", key: ["job_id", "due_at"] };
const OF_NO_JOB = "job_id NOT IN (SELECT id FROM cron_jobs)";

/** Choice: the times. A run of a removed job that nobody finished goes by the time it was due. */
export const CRON_RETENTION: Retention = {
  tables: ["cron_jobs", "cron_fires", "cron_zone"],
  holds: "scheduled jobs and their runs",
  rule: "jobs: until removed; runs: newest 2,000 per job (cron.runLog.keepLines), 1 year; runs of a removed job: 30 days",
  rows: [
    { ...FIRES, at: "settled_at", olderThanMs: 365 * DAY_MS },
    { ...FIRES, at: "settled_at", olderThanMs: 30 * DAY_MS, only: OF_NO_JOB },
    { ...FIRES, at: "due_at", olderThanMs: 30 * DAY_MS, only: `settled_at IS NULL AND ${OF_NO_JOB}` },
  ],
};
