/** Tables `webhook_runs` (an open run belongs to its `owner`) and `webhook_keys`, and functions that write and read their rows. */
import type { Owner, Row, Statement } from "@svc/sdk/storage";
import type { AcceptedWebhook, WebhookFields, WebhookKey, WebhookRun, WebhookWork } from "@svc/sdk/webhooks";

export const STEPS = [
  `CREATE TABLE webhook_runs (
    run_id TEXT PRIMARY KEY,
    mapping TEXT NOT NULL,
    action TEXT NOT NULL,
    status TEXT NOT NULL,
    job TEXT,
    reply TEXT NOT NULL,
    session_key TEXT,
    accepted_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    attempts BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    next_attempt_at BIGINT,
    reason TEXT,
    summary TEXT,
    details TEXT,
    replay_of TEXT,
    replayed_as TEXT
  )`,
  `CREATE INDEX webhook_runs_open ON webhook_runs (action, next_attempt_at) WHERE status IN ('queued', 'running')`,
  `CREATE INDEX webhook_runs_accepted ON webhook_runs (accepted_at)`,
  `CREATE TABLE webhook_keys (
    key TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    run_id TEXT NOT NULL,
    expires_at BIGINT NOT NULL
  )`,
  `CREATE INDEX webhook_keys_expiry ON webhook_keys (expires_at)`,
  "ALTER TABLE webhook_runs ADD COLUMN owner TEXT",
];

export const COLUMNS = `run_id, mapping, action, status, job, reply, session_key, accepted_at, started_at, ended_at, attempts,
  failures, next_attempt_at, reason, summary, details, replay_of, replayed_as`;

/** Work of an action; stored until the run is done. */
export type StoredJob = Pick<WebhookWork, "params" | "wrapped" | "contentSource">;

/** A webhook about to be recorded. */
export interface NewRun extends Omit<AcceptedWebhook, "keys"> {
  readonly replayOf?: string;
}

/** A record with the fields that the queue needs. */
export interface RunRecord {
  readonly run: WebhookRun;
  /** Absent once the run is done. */
  readonly job?: StoredJob;
  readonly reply: WebhookFields;
  /** Failed attempts; interrupted ones do not count. */
  readonly failures: number;
}

/** A key that is in use, and the run that uses it. */
export interface TakenKey {
  readonly runId: string;
  readonly digest: string;
}

/** Reserves a key; an expired key is free. */
export function take({ key, digest }: WebhookKey, { runId, acceptedAt }: NewRun, expiresAt: number): Statement[] {
  return [
    { sql: "DELETE FROM webhook_keys WHERE key = ? AND expires_at <= ?", params: [key, acceptedAt] },
    {
      sql: "INSERT INTO webhook_keys (key, digest, run_id, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
      params: [key, digest, runId, expiresAt],
      expectChanges: 1,
    },
  ];
}

/** @param owner who runs it @param now epoch ms, from when on it may run */
export function insert(run: NewRun, owner: Owner, now: number): Statement {
  const { runId, mapping, action, prepared, wrapped, contentSource, acceptedAt, effect, replayOf } = run;
  const { params, reply = {}, sessionKey } = prepared;
  const job: StoredJob = { params, wrapped, contentSource };
  const waits = effect === undefined;
  return {
    sql: `INSERT INTO webhook_runs (run_id, mapping, action, status, job, reply, session_key, accepted_at, started_at,
          ended_at, attempts, failures, next_attempt_at, replay_of, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`,
    params: [
      runId,
      mapping,
      action,
      waits ? "queued" : "done",
      waits ? JSON.stringify(job) : null,
      JSON.stringify(reply),
      sessionKey ?? null,
      acceptedAt,
      waits ? null : acceptedAt,
      waits ? null : acceptedAt,
      waits ? 0 : 1,
      waits ? now : null,
      replayOf ?? null,
      waits ? owner.id : null,
    ],
  };
}

export function toRecord(row: Row): RunRecord {
  const text = (column: string) => (row[column] === null ? undefined : String(row[column]));
  const number = (column: string) => (row[column] === null ? undefined : Number(row[column]));
  const given = <T>(key: string, value: T | undefined) => (value === undefined ? {} : { [key]: value });
  const [job, details] = [text("job"), text("details")];
  const run: WebhookRun = {
    runId: String(row["run_id"]),
    status: String(row["status"]) as WebhookRun["status"], // only the queue writes it
    mapping: String(row["mapping"]),
    action: String(row["action"]),
    ...given("sessionKey", text("session_key")),
    acceptedAt: Number(row["accepted_at"]),
    ...given("startedAt", number("started_at")),
    ...given("endedAt", number("ended_at")),
    attempts: Number(row["attempts"]),
    ...given("nextAttemptAt", number("next_attempt_at")),
    ...given("reason", text("reason")),
    ...given("summary", text("summary")),
    ...given("details", details === undefined ? undefined : (JSON.parse(details) as WebhookFields)),
    ...given("replayOf", text("replay_of")),
    ...given("replayedAs", text("replayed_as")),
  };
  return {
    run,
    reply: JSON.parse(String(row["reply"])) as WebhookFields,
    failures: Number(row["failures"]),
    ...(job === undefined ? {} : { job: JSON.parse(job) as StoredJob }),
  };
}
