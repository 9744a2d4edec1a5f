/** The last heartbeat of each agent, and the turns whose outcome has not been handled. Tables `heartbeat_beats`, `heartbeat_runs`. */
import type { Owner, Retention, Storage } from "@svc/sdk/storage";

/** Migration steps, appended to those of the events. */
export const BEAT_STEPS: readonly string[] = [
  "CREATE TABLE heartbeat_beats (agent_id TEXT PRIMARY KEY, last_at BIGINT NOT NULL)",
  "CREATE TABLE heartbeat_runs (run_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, session_key TEXT NOT NULL, reason TEXT NOT NULL)",
];

/** Appended after those of the events. */
export const OWNER_STEPS: readonly string[] = ["ALTER TABLE heartbeat_runs ADD COLUMN owner TEXT"];

/** Choice: a year. An agent with a longer interval starts a new interval. */
export const BEAT_RETENTION: Retention = {
  tables: ["heartbeat_beats", "heartbeat_runs"],
  holds: "last heartbeat of each agent; active heartbeat runs",
  rule: "1 year after the last heartbeat; active runs: until they end",
  rows: [{ table: "heartbeat_beats", key: ["agent_id"], at: "last_at", olderThanMs: 365 * 86_400_000 }],
};

/** A requested turn. */
export interface Beat {
  readonly runId: string;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly reason: string;
}

export class BeatStore {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** epoch ms by agent */
  async lastBeats(): Promise<Map<string, number>> {
    const sql = "SELECT agent_id, last_at FROM heartbeat_beats";
    const rows = await this.#storage.all<{ agent_id: string; last_at: number | bigint }>(sql);
    return new Map(rows.map(({ agent_id, last_at }) => [agent_id, Number(last_at)]));
  }

  /** Starts the agent's interval at `at` (epoch ms), whatever is stored. */
  async set(agentId: string, at: number): Promise<void> {
    const sql = `INSERT INTO heartbeat_beats (agent_id, last_at) VALUES (?, ?)
      ON CONFLICT (agent_id) DO UPDATE SET last_at = excluded.last_at`;
    await this.#storage.transaction([{ sql, params: [agentId, at] }]);
  }

  /** Claims the heartbeat that follows the one at `last`. @returns false: another gateway on this storage has claimed it */
  async claim(agentId: string, last: number, at: number): Promise<boolean> {
    const sql = "UPDATE heartbeat_beats SET last_at = ? WHERE agent_id = ? AND last_at = ?";
    const [claimed] = await this.#storage.transaction([{ sql, params: [at, agentId, last] }]);
    return claimed?.changes === 1;
  }

  async began({ runId, agentId, sessionKey, reason }: Beat, owner: Owner): Promise<void> {
    const sql = "INSERT INTO heartbeat_runs (run_id, agent_id, session_key, reason, owner) VALUES (?, ?, ?, ?, ?)";
    await this.#storage.transaction([{ sql, params: [runId, agentId, sessionKey, reason, owner.id] }]);
  }

  async settled(runId: string, owner: Owner): Promise<void> {
    const sql = "DELETE FROM heartbeat_runs WHERE run_id = ? AND owner = ?";
    await this.#storage.transaction([{ sql, params: [runId, owner.id] }]);
  }

  /** Takes over turns of gateways that have ended. */
  async takeOver(owner: Owner): Promise<Beat[]> {
    const free = owner.free("owner");
    const orphan = `SELECT run_id FROM heartbeat_runs WHERE ${free.sql} LIMIT 1`;
    if (!(await this.#storage.get(orphan, free.params))) return []; // a start writes nothing, so that it succeeds with a full disk
    const sql = `UPDATE heartbeat_runs SET owner = ? WHERE ${free.sql} RETURNING run_id, agent_id, session_key, reason`;
    const [taken] = await this.#storage.transaction([{ sql, params: [owner.id, ...free.params] }]);
    return (taken?.rows ?? []).map((row) => ({
      runId: String(row["run_id"]),
      agentId: String(row["agent_id"]),
      sessionKey: String(row["session_key"]),
      reason: String(row["reason"]),
    }));
  }
}
