/** Stores which `idempotencyKey`s were answered by a command instead of a run, so that a repeated request has no second effect. */
import type { Retention, Statement, Storage } from "@svc/sdk/storage";

export const MIGRATIONS = [
  `CREATE TABLE chat_commands (
     run_id TEXT PRIMARY KEY,
     session_key TEXT NOT NULL,
     answered_at BIGINT NOT NULL
   )`,
  "CREATE INDEX chat_commands_by_time ON chat_commands (answered_at)",
] as const;

/** Milliseconds an answered command is stored. Choice: a day; the spec requires five minutes. */
const REMEMBERED_MS = 86_400_000;

export const COMMAND_RETENTION: Retention = {
  tables: ["chat_commands"],
  holds: "chat.send calls that a command answered",
  rule: "24 hours",
  rows: [{ table: "chat_commands", key: ["run_id"], at: "answered_at", olderThanMs: REMEMBERED_MS }],
};

export interface CommandLog {
  /** Canonical key of the session the command was answered in. */
  find(runId: string): Promise<{ readonly sessionKey: string } | undefined>;
  /**
   * For the transaction that stores the answer; a second entry for the same `runId` rolls it back with `CONFLICT`.
   * @param answeredAt epoch ms
   */
  record(entry: { runId: string; sessionKey: string; answeredAt: number }): Statement[];
}

export function createCommandLog(storage: Pick<Storage, "get">): CommandLog {
  return {
    find: (runId) =>
      storage.get<{ sessionKey: string }>('SELECT session_key AS "sessionKey" FROM chat_commands WHERE run_id = ?', [
        runId,
      ]),
    record: ({ runId, sessionKey, answeredAt }) => [
      {
        sql: "INSERT INTO chat_commands (run_id, session_key, answered_at) VALUES (?, ?, ?) ON CONFLICT (run_id) DO NOTHING",
        params: [runId, sessionKey, answeredAt],
        expectChanges: 1,
      },
    ],
  };
}
