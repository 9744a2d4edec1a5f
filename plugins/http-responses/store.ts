/** Stored responses, for later requests. */
import type { Retention, Row, SqlValue, Storage } from "@svc/sdk/storage";

/** Tables of this plugin. Append only. */
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

/** Milliseconds for which a response is stored. Choice: 30 days, as in the public API. */
export const KEEP_MS = 30 * 24 * 3_600_000;

export const RETENTION: Retention = {
  tables: ["http_responses"],
  holds: "responses of /v1/responses, for later requests",
  rule: "30 days; newest 10,000",
  rows: [{ table: "http_responses", key: ["id"], at: "created_at", olderThanMs: KEEP_MS, most: 10_000 }],
};

/** A stored response. */
export interface KeptResponse {
  readonly id: string;
  /** Id of the principal that sent the request; only this principal can read the response. */
  readonly principal: string;
  readonly sessionKey: string;
  /** Id of the conversation at that time; empty if no run began. */
  readonly sessionId: string;
  /** Time of the answering message, epoch ms; 0: no answer, so the response cannot be continued. */
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
  /** Stores a response, on disk when the promise resolves. An existing response with the same id stays unchanged. */
  keep(response: KeptResponse): Promise<void>;
  /**
   * `undefined`: the response is unknown, deleted, expired or of another principal; callers cannot tell these cases
   * apart.
   */
  find(id: string, principal: string): Promise<KeptResponse | undefined>;
  /** @returns whether the response existed */
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
