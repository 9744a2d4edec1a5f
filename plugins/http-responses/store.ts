/** Responses as they were answered, to be looked up and gone on from. */
import type { Retention, Row, SqlValue, Storage } from "@svc/sdk/storage";

/** Tables of this plugin. Steps are only ever appended. */
export const STEPS = [
  `CREATE TABLE http_responses (
    id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    session_key TEXT NOT NULL,
    session_id TEXT NOT NULL,
    answered_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    body TEXT NOT NULL
  )`,
  "CREATE INDEX http_responses_created ON http_responses (created_at)",
];

/** Milliseconds a response is kept. Choice: 30 days, as the public API does. */
export const KEEP_MS = 30 * 24 * 3_600_000;

export const RETENTION: Retention = {
  tables: ["http_responses"],
  holds: "responses of /v1/responses, to be fetched and continued",
  rule: "30 days; the newest 10,000",
  rows: [{ table: "http_responses", key: ["id"], at: "created_at", olderThanMs: KEEP_MS, most: 10_000 }],
};

/** One that is kept. */
export interface KeptResponse {
  readonly id: string;
  /** Id of the principal that asked; nobody else sees it. */
  readonly principal: string;
  readonly sessionKey: string;
  /** Of the conversation it was answered in; empty when no run began. */
  readonly sessionId: string;
  /** Time of the message that answered, epoch ms; 0: none did, so that nothing can go on from it. */
  readonly answeredAt: number;
  /** epoch ms */
  readonly createdAt: number;
  /** The response object. */
  readonly body: Readonly<Record<string, unknown>>;
}

interface ResponseRow extends Row {
  readonly id: string;
  readonly principal: string;
  readonly session_key: string;
  readonly session_id: string;
  readonly answered_at: number | bigint;
  readonly created_at: number | bigint;
  readonly body: string;
}

export interface ResponseStore {
  /** Durable when it resolves; a second one with the same id changes nothing. */
  keep(response: KeptResponse): Promise<void>;
  /** `undefined` for one that is unknown, deleted, too old, or somebody else's: nobody learns which. */
  find(id: string, principal: string): Promise<KeptResponse | undefined>;
  /** @returns whether it was there */
  remove(id: string, principal: string): Promise<boolean>;
}

/** @param now epoch ms */
export function createResponseStore(storage: Storage, now: () => number): ResponseStore {
  const mine = (id: string, principal: string): SqlValue[] => [id, principal, now() - KEEP_MS];
  return {
    async keep({ id, principal, sessionKey, sessionId, answeredAt, createdAt, body }) {
      const sql = `INSERT INTO http_responses (id, principal, session_key, session_id, answered_at, created_at, body)
        VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`;
      const params = [id, principal, sessionKey, sessionId, answeredAt, createdAt, JSON.stringify(body)];
      await storage.transaction([{ sql, params }]);
    },
    async find(id, principal) {
      const sql = "SELECT * FROM http_responses WHERE id = ? AND principal = ? AND created_at > ?";
      const row = await storage.get<ResponseRow>(sql, mine(id, principal));
      return row && toKept(row);
    },
    async remove(id, principal) {
      const sql = "DELETE FROM http_responses WHERE id = ? AND principal = ? AND created_at > ?";
      const [deleted] = await storage.transaction([{ sql, params: mine(id, principal) }]);
      return deleted?.changes === 1;
    },
  };
}

function toKept(row: ResponseRow): KeptResponse {
  return {
    id: row.id,
    principal: row.principal,
    sessionKey: row.session_key,
    sessionId: row.session_id,
    answeredAt: Number(row.answered_at),
    createdAt: Number(row.created_at),
    body: JSON.parse(row.body) as KeptResponse["body"], // written by this store only
  };
}
