/**
 * Durable records of runs: request, state and outcome. Table `agent_runs`. An unfinished run belongs to its `owner`, and each change of the run
 * requires that owner. `resumes`: number of restarts after an interruption. `lease_until` is of earlier versions.
 */
import type { RunOutcome, RunRequest, RunState } from "@svc/sdk/agents";
import { unavailable } from "@svc/sdk";
import type { Owner, Retention, Statement, Storage } from "@svc/sdk/storage";
import { reasonOf } from "./outcome.ts";
import { SUBRUN_STEPS } from "../subagents/store.ts";

const STEPS = [
  `CREATE TABLE agent_runs (
    run_id TEXT PRIMARY KEY,
    session_key TEXT NOT NULL,
    origin TEXT NOT NULL,
    status TEXT NOT NULL,
    accepted_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    error TEXT,
    request TEXT,
    outcome TEXT
  )`,
  `CREATE INDEX agent_runs_open ON agent_runs (accepted_at) WHERE status IN ('accepted', 'running')`,
  `CREATE INDEX agent_runs_ended ON agent_runs (ended_at) WHERE ended_at IS NOT NULL`,
  ...SUBRUN_STEPS,
  "ALTER TABLE agent_runs ADD COLUMN owner TEXT",
  "ALTER TABLE agent_runs ADD COLUMN lease_until BIGINT",
  "ALTER TABLE agent_runs ADD COLUMN resumes BIGINT NOT NULL DEFAULT 0",
  "ALTER TABLE agent_runs ADD COLUMN abort_reason TEXT",
  "CREATE INDEX agent_runs_of_session ON agent_runs (session_key) WHERE status IN ('accepted', 'running')",
];

const WEEK_MS = 7 * 86_400_000;

/** Choice: a week. After that, the id of a run can be reused. A sub-run is kept until its result was announced and its session archived. */
export const RUN_RETENTION: Retention = {
  tables: ["agent_runs", "agent_subruns"],
  holds: "runs of agents: request, state and outcome",
  rule: "7 days after the run ended; waiting and active runs are never deleted",
  rows: [
    {
      table: "agent_runs",
      key: ["run_id"],
      at: "ended_at",
      olderThanMs: WEEK_MS,
      only: `status NOT IN ('accepted', 'running')
        AND run_id NOT IN (SELECT run_id FROM agent_subruns WHERE announced_at IS NULL OR archived_at IS NULL)`,
    },
    {
      table: "agent_subruns",
      key: ["run_id"],
      at: "created_at",
      olderThanMs: WEEK_MS,
      only: "run_id NOT IN (SELECT run_id FROM agent_runs)",
    },
  ],
};

interface RunRow {
  readonly run_id: string;
  readonly session_key: string;
  readonly origin: string;
  readonly status: RunState["status"];
  readonly accepted_at: number | bigint;
  readonly started_at: number | bigint | null;
  readonly ended_at: number | bigint | null;
  readonly error: string | null;
  readonly request: string | null;
  readonly outcome: string | null;
  readonly owner: string | null;
  readonly resumes: number | bigint;
}

export interface RunRecord {
  readonly state: RunState;
  /** epoch ms */
  readonly acceptedAt: number;
  /** Only until the run ends. */
  readonly request?: RunRequest;
  readonly owner?: string;
  /** Number of restarts after an interruption. */
  readonly resumes: number;
  /** Without `message`. Only of ended runs. */
  readonly outcome?: RunOutcome;
}

/** A run, or all runs of a session. */
export type RunsElsewhere = { readonly runId: string } | { readonly sessionKey: string };

export class RunStore {
  readonly #services: { readonly storage: Storage };
  #owner: Owner | undefined;

  /** @param services read at each use, so that the store can be constructed before storage has started */
  constructor(services: { readonly storage: Storage }) {
    this.#services = services;
  }

  /** @param owner of the runs that are accepted or taken over here */
  open(owner: Owner): Promise<void> {
    this.#owner = owner;
    return this.#services.storage.migrate("agents", STEPS);
  }

  get owner(): Owner {
    return this.#owner ?? unavailable("the plugin agents is starting", { retryAfterMs: 500 });
  }

  /**
   * Stores a run in one transaction with `alongside`. Durable when it resolves. All open runs of a session have one owner, so that they do not run at
   * the same time: the run is given to the gateway that has others of its session.
   * @returns its owner; `undefined` when a record with this id already exists
   */
  async accept(
    request: RunRequest,
    acceptedAt: number,
    alongside: readonly Statement[] = [],
  ): Promise<string | undefined> {
    // The connection does not survive a restart, so it is not stored.
    const { connectionId: _connection, ...kept } = request;
    const free = this.owner.free("o.owner");
    const [result] = await this.#services.storage.transaction([
      {
        sql: `INSERT INTO agent_runs (run_id, session_key, origin, status, accepted_at, request, owner)
              SELECT ?, ?, ?, 'accepted', CAST(? AS BIGINT), ?, coalesce((SELECT max(o.owner) FROM agent_runs o
                WHERE o.session_key = ? AND o.status IN ('accepted', 'running') AND o.owner <> ? AND NOT ${free.sql}), ?)
              WHERE true ON CONFLICT (run_id) DO NOTHING RETURNING owner`,
        params: [
          request.runId,
          request.sessionKey,
          request.source,
          acceptedAt,
          JSON.stringify(kept),
          request.sessionKey,
          this.owner.id,
          ...free.params,
          this.owner.id,
        ],
      },
      ...alongside,
    ]);
    const owner = result?.rows[0]?.["owner"];
    return typeof owner === "string" ? owner : undefined;
  }

  /** Asks other gateways to abort their runs. @returns these runs, and their owners */
  async abortElsewhere(
    of: RunsElsewhere,
    reason: string,
  ): Promise<readonly { readonly runId: string; readonly owner: string }[]> {
    const free = this.owner.free("owner");
    const [column, value] = "runId" in of ? ["run_id", of.runId] : ["session_key", of.sessionKey];
    const which = `${column} = ? AND status IN ('accepted', 'running') AND owner <> ? AND NOT ${free.sql}`;
    const params = [value, this.owner.id, ...free.params];
    const { storage } = this.#services;
    if (!(await storage.get(`SELECT run_id FROM agent_runs WHERE ${which} LIMIT 1`, params))) return [];
    const [result] = await storage.transaction([
      {
        sql: `UPDATE agent_runs SET abort_reason = coalesce(abort_reason, ?) WHERE ${which} RETURNING run_id, owner`,
        params: [reason, ...params],
      },
    ]);
    return (result?.rows ?? []).map((row) => ({ runId: String(row["run_id"]), owner: String(row["owner"]) }));
  }

  /** Runs of this gateway that another one asks to abort, with its reason. */
  async abortsAsked(): Promise<readonly { readonly runId: string; readonly reason: string }[]> {
    const sql = `SELECT run_id, abort_reason FROM agent_runs
      WHERE status IN ('accepted', 'running') AND owner = ? AND abort_reason IS NOT NULL`;
    const rows = await this.#services.storage.all<{ run_id: string; abort_reason: string }>(sql, [this.owner.id]);
    return rows.map(({ run_id: runId, abort_reason: reason }) => ({ runId, reason }));
  }

  /** Runs in the transaction of the user's message: sets the state `running`. */
  started(runId: string, startedAt: number): Statement {
    return {
      sql: `UPDATE agent_runs SET status = 'running', started_at = ?
            WHERE run_id = ? AND status = 'accepted' AND owner = ?`,
      params: [startedAt, runId, this.owner.id],
      expectChanges: 1,
    };
  }

  /** Resets an interrupted run to `accepted`; its message is already in the transcript. */
  resumed(runId: string): Statement {
    return {
      sql: `UPDATE agent_runs SET status = 'accepted', resumes = resumes + 1
            WHERE run_id = ? AND status = 'running' AND owner = ?`,
      params: [runId, this.owner.id],
      expectChanges: 1,
    };
  }

  /** Takes over a run that is free. @returns false when another gateway was first, with this run or with others of its session */
  async take(runId: string): Promise<boolean> {
    const [free, others] = [this.owner.free("owner"), this.owner.free("o.owner")];
    const [result] = await this.#services.storage.transaction([
      {
        sql: `UPDATE agent_runs SET owner = ? WHERE run_id = ? AND status IN ('accepted', 'running') AND ${free.sql}
              AND NOT EXISTS (SELECT 1 FROM agent_runs o WHERE o.session_key = agent_runs.session_key
                AND o.status IN ('accepted', 'running') AND o.owner <> ? AND NOT ${others.sql})`,
        params: [this.owner.id, runId, ...free.params, this.owner.id, ...others.params],
      },
    ]);
    return result?.changes === 1;
  }

  /** Lets others take the runs of this gateway that have not begun. @param except ids of those that it has begun */
  async releaseWaiting(except: readonly string[]): Promise<void> {
    const others = `run_id NOT IN (${except.map(() => "?").join(", ") || "''"})`;
    const sql = `UPDATE agent_runs SET owner = NULL WHERE owner = ? AND status = 'accepted' AND ${others}`;
    await this.#services.storage.transaction([{ sql, params: [this.owner.id, ...except] }]);
  }

  /** Lets others take the unfinished runs of this gateway at once. */
  async release(): Promise<void> {
    const sql = "UPDATE agent_runs SET owner = NULL WHERE owner = ? AND status IN ('accepted', 'running')";
    await this.#services.storage.transaction([{ sql, params: [this.owner.id] }]);
  }

  /**
   * Runs in the transaction of each message of a run: it conflicts once another gateway has taken over the run, so that a
   * suspended process adds nothing to a conversation that continued without it.
   */
  owned(runId: string): Statement {
    return {
      sql: "UPDATE agent_runs SET status = 'running' WHERE run_id = ? AND status = 'running' AND owner = ?",
      params: [runId, this.owner.id],
      expectChanges: 1,
    };
  }

  /** Runs in the transaction of the last message. @param from state the run must still be in */
  ended(outcome: RunOutcome, from: "accepted" | "running", status: RunState["status"] = outcome.status): Statement {
    const { message: _inTranscript, ...kept } = outcome;
    return {
      sql: `UPDATE agent_runs SET status = ?, ended_at = ?, error = ?, request = NULL, outcome = ?
            WHERE run_id = ? AND status = ? AND owner = ?`,
      params: [
        status,
        outcome.endedAt,
        reasonOf(outcome) ?? null,
        JSON.stringify(kept),
        outcome.runId,
        from,
        this.owner.id,
      ],
      expectChanges: 1,
    };
  }

  async find(runId: string): Promise<RunRecord | undefined> {
    const row = await this.#services.storage.get<RunRow>("SELECT * FROM agent_runs WHERE run_id = ?", [runId]);
    return row && toRecord(row);
  }

  /** Id of the oldest unfinished run of a session, on any gateway. */
  async openOf(sessionKey: string): Promise<string | undefined> {
    const sql = `SELECT run_id FROM agent_runs WHERE session_key = ? AND status IN ('accepted', 'running')
      ORDER BY accepted_at, run_id LIMIT 1`;
    return (await this.#services.storage.get<{ run_id: string }>(sql, [sessionKey]))?.run_id;
  }

  /** Unfinished runs that belong to this gateway or that it may take, in the order of acceptance. */
  async unfinished(): Promise<RunRecord[]> {
    const free = this.owner.free("owner");
    const rows = await this.#services.storage.all<RunRow>(
      `SELECT * FROM agent_runs WHERE status IN ('accepted', 'running') AND (owner = ? OR ${free.sql}) ORDER BY accepted_at, run_id`,
      [this.owner.id, ...free.params],
    );
    return rows.map(toRecord);
  }
}

function toRecord(row: RunRow): RunRecord {
  const state: RunState = {
    runId: row.run_id,
    sessionKey: row.session_key,
    source: row.origin,
    status: row.status,
    ...(row.started_at === null ? {} : { startedAt: Number(row.started_at) }),
    ...(row.ended_at === null ? {} : { endedAt: Number(row.ended_at) }),
    ...(row.error === null ? {} : { error: row.error }),
  };
  return {
    state,
    acceptedAt: Number(row.accepted_at),
    ...(row.owner === null ? {} : { owner: row.owner }),
    resumes: Number(row.resumes),
    // Both columns were written by `accept` and `ended` above.
    ...(row.request === null ? {} : { request: requestOf(row.request) }),
    ...(row.outcome === null ? {} : { outcome: JSON.parse(row.outcome) as RunOutcome }),
  };
}

/** Up to 0.1.0, the source was stored as `origin`, and the address as `toolOrigin`. */
function requestOf(json: string): RunRequest {
  const { toolOrigin, ...request } = JSON.parse(json) as RunRequest & {
    readonly toolOrigin?: RunRequest["toolAddress"];
  };
  if (typeof request.origin !== "string") return request;
  const { origin: source, ...rest } = request;
  return { ...rest, source, ...(toolOrigin === undefined ? {} : { toolAddress: toolOrigin }) };
}
