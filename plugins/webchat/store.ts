/** Visitors, their messages and the files of agents, in tables of this plugin. */
import { createHash } from "node:crypto";
import { withTables } from "@svc/kit/channels";
import type { Retention, Row, SqlValue, Statement, Storage } from "@svc/sdk/storage";
import type { Buttons, ShownMessage } from "./protocol.ts";

const DAY_MS = 86_400_000;
/** Messages that are kept of one visitor. */
const MAX_MESSAGES = 500;

/** Tables of this plugin. Append only. */
export const STEPS = [
  `CREATE TABLE webchat_visitors (
    account TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    visitor TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (account, token_hash)
  )`,
  "CREATE UNIQUE INDEX webchat_visitors_visitor ON webchat_visitors (account, visitor)",
  "CREATE INDEX webchat_visitors_expires ON webchat_visitors (expires_at)",
  `CREATE TABLE webchat_messages (
    account TEXT NOT NULL,
    visitor TEXT NOT NULL,
    seq BIGINT NOT NULL,
    id TEXT NOT NULL,
    author TEXT NOT NULL,
    body TEXT NOT NULL,
    buttons TEXT,
    file TEXT,
    at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (account, visitor, seq)
  )`,
  "CREATE UNIQUE INDEX webchat_messages_id ON webchat_messages (account, visitor, id)",
  "CREATE INDEX webchat_messages_expires ON webchat_messages (expires_at)",
  `CREATE TABLE webchat_files (
    account TEXT NOT NULL,
    visitor TEXT NOT NULL,
    id TEXT NOT NULL,
    bytes BLOB NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (account, visitor, id)
  )`,
  "CREATE INDEX webchat_files_expires ON webchat_files (expires_at)",
];

const expiring = (table: string, column: string, most: number) => ({
  table,
  key: ["account", ...(column === "token_hash" ? [column] : ["visitor", column])],
  at: "expires_at",
  olderThanMs: 0,
  most,
});

export const RETENTION: Retention = {
  tables: ["webchat_visitors", "webchat_messages", "webchat_files"],
  holds: "visitors of websites, their conversations as the page shows them, and files of agents",
  rule: "30 days (visitorDays) after the last visit or the message; newest 500 messages per visitor, 100,000 visitors, 1,000,000 messages and 500 files",
  rows: [
    expiring("webchat_visitors", "token_hash", 100_000),
    expiring("webchat_messages", "seq", 1_000_000),
    expiring("webchat_files", "id", 500),
  ],
};

/** Whose conversation. */
export interface Place {
  readonly account: string;
  readonly visitor: string;
}

export interface Store {
  /** Adds a visitor who has this token. @param at epoch ms */
  addVisitor(place: Place, token: string, days: number, at: number): Promise<void>;
  /** The visitor with this token, who is then kept for further `days`. */
  visitorOf(account: string, token: string, days: number, at: number): Promise<string | undefined>;
  hasVisitor(place: Place): Promise<boolean>;
  /** @returns whether the message is new; a known id changes nothing */
  add(place: Place, message: ShownMessage, days: number, bytes?: Uint8Array): Promise<boolean>;
  /** Replaces text and buttons of a message of the agent. @returns whether it exists */
  change(place: Place, id: string, text: string, buttons?: Buttons): Promise<boolean>;
  remove(place: Place, id: string): Promise<void>;
  find(place: Place, id: string): Promise<ShownMessage | undefined>;
  /** The oldest first. */
  newest(place: Place, count: number): Promise<ShownMessage[]>;
  /** Bytes of a file from `offset` on; `undefined`: there are none. */
  filePart(place: Place, id: string, offset: number, most: number): Promise<Uint8Array | undefined>;
}

/** @param storage used on the first call, which creates the tables */
export function createStore(storage: Storage): Store {
  const open = withTables(storage, "webchat", STEPS);
  const get = async <T extends Row>(sql: string, params: readonly SqlValue[]) => (await open()).get<T>(sql, params);
  const write = async (...statements: readonly Statement[]) => {
    const [first] = await (await open()).transaction(statements);
    return first?.changes ?? 0;
  };
  const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
  const MINE = "account = ? AND visitor = ?";

  return {
    async addVisitor({ account, visitor }, token, days, at) {
      const sql = "INSERT INTO webchat_visitors (account, token_hash, visitor, expires_at) VALUES (?, ?, ?, ?)";
      await write({ sql, params: [account, hashOf(token), visitor, at + days * DAY_MS] });
    },
    async visitorOf(account, token, days, at) {
      const known = "account = ? AND token_hash = ?";
      const row = await get<{ visitor: string }>(
        `SELECT visitor FROM webchat_visitors WHERE ${known} AND expires_at > ?`,
        [account, hashOf(token), at],
      );
      if (!row) return undefined;
      const sql = `UPDATE webchat_visitors SET expires_at = ? WHERE ${known}`;
      await write({ sql, params: [at + days * DAY_MS, account, hashOf(token)] });
      return row.visitor;
    },
    async hasVisitor({ account, visitor }) {
      return (await get(`SELECT 1 AS one FROM webchat_visitors WHERE ${MINE}`, [account, visitor])) !== undefined;
    },

    async add({ account, visitor }, { id, from, text, at, buttons, file }, days, bytes) {
      const expiresAt = at + days * DAY_MS;
      const last = `(SELECT MAX(seq) FROM webchat_messages WHERE ${MINE})`;
      const changes = await write(
        {
          sql: `INSERT INTO webchat_messages (account, visitor, seq, id, author, body, buttons, file, at, expires_at)
            VALUES (?, ?, COALESCE(${last}, 0) + 1, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
          params: [account, visitor, account, visitor, id, from, text, json(buttons), json(file), at, expiresAt],
        },
        {
          sql: `DELETE FROM webchat_messages WHERE ${MINE} AND seq <= ${last} - ?`,
          params: [account, visitor, account, visitor, MAX_MESSAGES],
        },
        {
          sql: `UPDATE webchat_visitors SET expires_at = ? WHERE ${MINE} AND expires_at < ?`,
          params: [expiresAt, account, visitor, expiresAt],
        },
        ...(bytes
          ? [
              {
                sql: `INSERT INTO webchat_files (account, visitor, id, bytes, expires_at) VALUES (?, ?, ?, ?, ?)
                  ON CONFLICT DO NOTHING`,
                params: [account, visitor, id, bytes, expiresAt],
              },
            ]
          : []),
      );
      return changes === 1;
    },
    async change({ account, visitor }, id, text, buttons) {
      const sql = `UPDATE webchat_messages SET body = ?, buttons = ? WHERE ${MINE} AND id = ? AND author = 'agent'`;
      return (await write({ sql, params: [text, json(buttons), account, visitor, id] })) === 1;
    },
    async remove({ account, visitor }, id) {
      await write({ sql: `DELETE FROM webchat_messages WHERE ${MINE} AND id = ?`, params: [account, visitor, id] });
    },
    async find({ account, visitor }, id) {
      const sql = `SELECT * FROM webchat_messages WHERE ${MINE} AND id = ?`;
      const row = await get<MessageRow>(sql, [account, visitor, id]);
      return row && toShown(row);
    },
    async newest({ account, visitor }, count) {
      if (count === 0) return [];
      const sql = `SELECT * FROM webchat_messages WHERE ${MINE} ORDER BY seq DESC LIMIT ?`;
      const rows = await (await open()).all<MessageRow>(sql, [account, visitor, count]);
      return rows.map(toShown).toReversed();
    },
    async filePart({ account, visitor }, id, offset, most) {
      const sql = `SELECT SUBSTR(bytes, ?, ?) AS part FROM webchat_files WHERE ${MINE} AND id = ?`;
      const row = await get<{ part: Uint8Array }>(sql, [offset + 1, most, account, visitor, id]);
      return row?.part;
    },
  };
}

/** SHA-256 in hex: the only form in which a token is stored. */
export function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

interface MessageRow extends Row {
  readonly id: string;
  readonly author: "visitor" | "agent";
  readonly body: string;
  readonly buttons: string | null;
  readonly file: string | null;
  readonly at: number;
}

function toShown({ id, author, body, buttons, file, at }: MessageRow): ShownMessage {
  return {
    id,
    from: author,
    text: body,
    at,
    // written by this store only
    ...(buttons === null ? {} : { buttons: JSON.parse(buttons) as Buttons }),
    ...(file === null ? {} : { file: JSON.parse(file) as NonNullable<ShownMessage["file"]> }),
  };
}
