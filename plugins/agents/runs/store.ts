/**
 * Durable records of runs: request, state and outcome. Table `agent_runs`. One gateway owns an unfinished run through a
 * lease (`owner`, `lease_until`), and each change of the run requires that owner. `resumes`: number of restarts after an
 * interruption.
 */
import { type Lease, Leases } from "@svc/kit/lease";
import type { Clock } from "@svc/sdk";
import type { RunOutcome, RunRequest, RunState } from "@svc/sdk/agents";
import type { Retention, Statement, Storage } from "@svc/sdk/storage";
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
  readonly lease_until: number | bigint | null;
  readonly resumes: number | bigint;
}

export interface RunRecord {
  readonly state: RunState;
  /** epoch ms */
  readonly acceptedAt: number;
  /** Only until the run ends. */
  readonly request?: RunRequest;
  readonly lease: Lease;
  /** Number of restarts after an interruption. */
  readonly resumes: number;
  /** Without `message`. Only of ended runs. */
  readonly outcome?: RunOutcome;
}

export class RunStore {
  readonly #services: { readonly storage: Storage };
  readonly #leases: Leases;
  /** Lease owner of runs accepted or taken over here. */
  readonly owner: string;

  /** @param services read at each use, so that the store can be constructed before storage has started @param owner from `newOwner` */
  constructor(services: { readonly storage: Storage }, clock: Pick<Clock, "now" | "elapsed">, owner: string) {
    this.#services = services;
    this.#leases = new Leases(clock);
    this.owner = owner;
  }

  open(): Promise<void> {
    return this.#services.storage.migrate("agents", STEPS);
  }

  /**
   * Stores a run in one transaction with `alongside`. Durable when it resolves.
   * @returns false when a record with this id already exists
   */
  async accept(request: RunRequest, acceptedAt: number, alongside: readonly Statement[] = []): Promise<boolean> {
    // The connection does not survive a restart, so it is not stored.
    const { connectionId: _connection, ...kept } = request;
    const [result] = await this.#services.storage.transaction([
      {
        sql: `INSERT INTO agent_runs (run_id, session_key, origin, status, accepted_at, request, owner, lease_until)
              VALUES (?, ?, ?, 'accepted', ?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING`,
        params: [
          request.runId,
          request.sessionKey,
          request.source,
          acceptedAt,
          JSON.stringify(kept),
          this.owner,
          this.#leases.until(),
        ],
      },
      ...alongside,
    ]);
    return result?.changes === 1;
  }

  /** Runs in the transaction of the user's message: sets the state `running`. */
  started(runId: string, startedAt: number): Statement {
    return {
      sql: `UPDATE agent_runs SET status = 'running', started_at = ?
            WHERE run_id = ? AND status = 'accepted' AND owner = ?`,
      params: [startedAt, runId, this.owner],
      expectChanges: 1,
    };
  }

  /** Resets an interrupted run to `accepted`; its message is already in the transcript. */
  resumed(runId: string): Statement {
    return {
      sql: `UPDATE agent_runs SET status = 'accepted', resumes = resumes + 1
            WHERE run_id = ? AND status = 'running' AND owner = ?`,
      params: [runId, this.owner],
      expectChanges: 1,
    };
  }

  /** Milliseconds until this gateway may take over the run; 0: it may now, or already owns it. */
  leaseLeft(lease: Lease): number {
    return lease.owner === this.owner ? 0 : this.#leases.left(lease);
  }

  /** Takes over a run whose lease has not changed since it was read. @returns false when another gateway was first */
  async take(runId: string, { owner, until }: Lease): Promise<boolean> {
    const [result] = await this.#services.storage.transaction([
      {
        sql: `UPDATE agent_runs SET owner = ?, lease_until = ? WHERE run_id = ? AND status IN ('accepted', 'running')
              AND COALESCE(owner, '') = ? AND COALESCE(lease_until, 0) = ?`,
        params: [this.owner, this.#leases.until(), runId, owner ?? "", until],
      },
    ]);
    return result?.changes === 1;
  }

  /** Renews the leases of this gateway. */
  renew(): Promise<void> {
    return this.#lease(this.#leases.until());
  }

  release(): Promise<void> {
    return this.#lease(0);
  }

  async #lease(until: number): Promise<void> {
    const sql = "UPDATE agent_runs SET lease_until = ? WHERE owner = ? AND status IN ('accepted', 'running')";
    await this.#services.storage.transaction([{ sql, params: [until, this.owner] }]);
  }

  /**
   * Runs in the transaction of each message of a run: it conflicts once another gateway has taken over the run, so that a
   * suspended process adds nothing to a conversation that continued without it.
   */
  owned(runId: string): Statement {
    return {
      sql: "UPDATE agent_runs SET status = 'running' WHERE run_id = ? AND status = 'running' AND owner = ?",
      params: [runId, this.owner],
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
        this.owner,
      ],
      expectChanges: 1,
    };
  }

  async find(runId: string): Promise<RunRecord | undefined> {
    const row = await this.#services.storage.get<RunRow>("SELECT * FROM agent_runs WHERE run_id = ?", [runId]);
    return row && toRecord(row);
  }

  /** Unfinished runs, in the order of acceptance. */
  async unfinished(): Promise<RunRecord[]> {
    const rows = await this.#services.storage.all<RunRow>(
      "SELECT * FROM agent_runs WHERE status IN ('accepted', 'running') ORDER BY accepted_at, run_id",
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
    lease: { ...(row.owner === null ? {} : { owner: row.owner }), until: Number(row.lease_until ?? 0) },
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
