/** Programs that this gateway started on nodes. Only for these are reports of a node delivered, to the session of the run. Table `nodes_runs`. */
import type { Retention, Storage } from "@svc/sdk/storage";

export const RUN_STEPS = [
  `CREATE TABLE nodes_runs (
    node_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    session_key TEXT,
    started_at BIGINT NOT NULL,
    PRIMARY KEY (node_id, run_id)
  )`,
  "CREATE INDEX nodes_runs_started ON nodes_runs (started_at)",
];

/** Choice: 7 days and 50,000 runs; later reports are ignored. */
export const RUN_RETENTION: Retention = {
  tables: ["nodes_runs"],
  holds: "programs started on nodes",
  rule: "7 days; newest 50,000",
  rows: [
    { table: "nodes_runs", key: ["node_id", "run_id"], at: "started_at", olderThanMs: 7 * 86_400_000, most: 50_000 },
  ],
};

/** A started program. */
export interface StartedRun {
  /** Session key as given by the caller; absent: none given. */
  readonly sessionKey?: string;
}

/** Durable when it resolves. @param now epoch ms */
export async function keepStarted(
  storage: Pick<Storage, "transaction">,
  { nodeId, runId, sessionKey }: { nodeId: string; runId: string; sessionKey: string | undefined },
  now: number,
): Promise<void> {
  const sql = `INSERT INTO nodes_runs (node_id, run_id, session_key, started_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (node_id, run_id) DO NOTHING`;
  await storage.transaction([{ sql, params: [nodeId, runId, sessionKey ?? null, now] }]);
}

/** `undefined`: this gateway did not start the program on this node. */
export async function startedRun(
  storage: Pick<Storage, "get">,
  nodeId: string,
  runId: string,
): Promise<StartedRun | undefined> {
  const sql = "SELECT session_key FROM nodes_runs WHERE node_id = ? AND run_id = ?";
  const row = await storage.get<{ session_key: string | null }>(sql, [nodeId, runId]);
  return row && (row.session_key === null ? {} : { sessionKey: row.session_key });
}
