/** Records of sub-runs: their parent run, and whether their result was announced and their session archived. Table `agent_subruns`. */
import type { Principal } from "@svc/sdk";
import type { RunOutcome, RunState } from "@svc/sdk/agents";
import type { Statement, Storage } from "@svc/sdk/storage";

export const SUBRUN_STEPS = [
  `CREATE TABLE agent_subruns (
    run_id TEXT PRIMARY KEY,
    parent_run_id TEXT NOT NULL,
    parent_key TEXT NOT NULL,
    session_key TEXT NOT NULL,
    label TEXT,
    principal TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    announced_at BIGINT,
    archived_at BIGINT
  )`,
  "CREATE INDEX agent_subruns_parent ON agent_subruns (parent_key, created_at)",
  "CREATE INDEX agent_subruns_owed ON agent_subruns (created_at) WHERE announced_at IS NULL OR archived_at IS NULL",
];

export interface Subrun {
  readonly runId: string;
  readonly parentRunId: string;
  /** Canonical. */
  readonly parentKey: string;
  /** Canonical key of its own session. */
  readonly sessionKey: string;
  readonly label?: string;
  /** Principal of the parent run. */
  readonly principal: Principal;
  /** epoch ms */
  readonly createdAt: number;
  readonly status: RunState["status"];
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly outcome?: RunOutcome;
}

interface SubrunRow {
  readonly run_id: string;
  readonly parent_run_id: string;
  readonly parent_key: string;
  readonly session_key: string;
  readonly label: string | null;
  readonly principal: string;
  readonly created_at: number | bigint;
  readonly status: RunState["status"];
  readonly started_at: number | bigint | null;
  readonly ended_at: number | bigint | null;
  readonly outcome: string | null;
}

const SELECT = `SELECT s.*, r.status, r.started_at, r.ended_at, r.outcome
  FROM agent_subruns s JOIN agent_runs r ON r.run_id = s.run_id`;
const OPEN = "r.status IN ('accepted', 'running')";

export class SubrunStore {
  readonly #services: { readonly storage: Storage };

  /** @param services read at each use. `RunStore` creates the table. */
  constructor(services: { readonly storage: Storage }) {
    this.#services = services;
  }

  /** Runs in the transaction that accepts the sub-run. */
  add(
    subrun: Pick<Subrun, "runId" | "parentRunId" | "parentKey" | "sessionKey" | "label" | "principal" | "createdAt">,
  ): Statement {
    const { runId, parentRunId, parentKey, sessionKey, label, principal, createdAt } = subrun;
    return {
      sql: `INSERT INTO agent_subruns (run_id, parent_run_id, parent_key, session_key, label, principal, created_at)
            VALUES (?, ?, ?, ?, ?, ?, ?)`,
      params: [runId, parentRunId, parentKey, sessionKey, label ?? null, JSON.stringify(principal), createdAt],
    };
  }

  /** Marks the result as announced, or as not wanted. */
  announced(runId: string, at: number): Statement {
    return {
      sql: "UPDATE agent_subruns SET announced_at = ? WHERE run_id = ? AND announced_at IS NULL",
      params: [at, runId],
    };
  }

  /** Marks the session as archived. */
  archived(runId: string, at: number): Statement {
    return { sql: "UPDATE agent_subruns SET archived_at = ? WHERE run_id = ?", params: [at, runId] };
  }

  /** Waiting and running sub-runs of a session, oldest first. */
  open(parentKey: string): Promise<Subrun[]> {
    return this.#all(`${SELECT} WHERE s.parent_key = ? AND ${OPEN} ORDER BY s.created_at, s.run_id`, [parentKey]);
  }

  /** The last `limit` sub-runs of a session, newest first. */
  latest(parentKey: string, limit: number): Promise<Subrun[]> {
    return this.#all(`${SELECT} WHERE s.parent_key = ? ORDER BY s.created_at DESC, s.run_id DESC LIMIT ?`, [
      parentKey,
      limit,
    ]);
  }

  /** Ended sub-runs whose result was not announced to the parent, oldest first. */
  unannounced(limit: number): Promise<Subrun[]> {
    return this.#all(`${SELECT} WHERE s.announced_at IS NULL AND NOT ${OPEN} ORDER BY r.ended_at, s.run_id LIMIT ?`, [
      limit,
    ]);
  }

  async find(runId: string): Promise<(Subrun & { readonly isAnnounced: boolean }) | undefined> {
    const row = await this.#services.storage.get<SubrunRow & { announced_at: unknown }>(
      `${SELECT} WHERE s.run_id = ?`,
      [runId],
    );
    return row && { ...toSubrun(row), isAnnounced: row.announced_at !== null };
  }

  /** Sub-runs that ended before `before` (epoch ms), whose session is not archived and has no unfinished run. */
  forArchive(before: number, limit: number): Promise<Subrun[]> {
    return this.#all(
      `${SELECT} WHERE s.archived_at IS NULL AND s.announced_at IS NOT NULL AND r.ended_at < ? AND NOT EXISTS
       (SELECT 1 FROM agent_runs o WHERE o.session_key = s.session_key AND o.status IN ('accepted', 'running'))
       ORDER BY r.ended_at, s.run_id LIMIT ?`,
      [before, limit],
    );
  }

  async #all(sql: string, params: readonly (string | number)[]): Promise<Subrun[]> {
    return (await this.#services.storage.all<SubrunRow>(sql, params)).map(toSubrun);
  }
}

function toSubrun(row: SubrunRow): Subrun {
  return {
    runId: row.run_id,
    parentRunId: row.parent_run_id,
    parentKey: row.parent_key,
    sessionKey: row.session_key,
    ...(row.label === null ? {} : { label: row.label }),
    // Written by `add` above and by `RunStore.ended`.
    principal: JSON.parse(row.principal) as Principal,
    createdAt: Number(row.created_at),
    status: row.status,
    ...(row.started_at === null ? {} : { startedAt: Number(row.started_at) }),
    ...(row.ended_at === null ? {} : { endedAt: Number(row.ended_at) }),
    ...(row.outcome === null ? {} : { outcome: JSON.parse(row.outcome) as RunOutcome }),
  };
}
