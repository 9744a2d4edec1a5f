/** What the plugin keeps: keys of logins, and messages. Those that the gateway has not accepted yet are marked. */
import { withTables } from "@svc/kit/channels";
import type { WAMessage } from "@whiskeysockets/baileys";
import type { Retention, Statement, Storage } from "@svc/sdk/storage";
import { createKeys, type Keys, type Write } from "./keys.ts";
import type { Library } from "./library.ts";

const DAY_MS = 86_400_000;

/** Tables of this plugin. Append only. */
const STEPS = [
  `CREATE TABLE whatsapp_web_keys (
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (account, name)
  )`,
  `CREATE TABLE whatsapp_web_messages (
    account TEXT NOT NULL,
    id TEXT NOT NULL,
    facts TEXT NOT NULL,
    body BLOB NOT NULL,
    waiting BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (account, id)
  )`,
  "CREATE INDEX whatsapp_web_messages_at ON whatsapp_web_messages (at)",
];

export const RETENTION: Retention = {
  tables: ["whatsapp_web_keys", "whatsapp_web_messages"],
  holds: "keys of linked numbers, and their messages: for answers, reactions, files and polls",
  rule: "keys until the logout; messages for 30 days, the newest 100,000",
  rows: [{ table: "whatsapp_web_messages", key: ["account", "id"], at: "at", olderThanMs: 30 * DAY_MS, most: 100_000 }],
};

export interface Found {
  readonly message: WAMessage;
  /** The gateway has not accepted it yet. */
  readonly isWaiting: boolean;
}

export interface Store {
  /** Keys of the account. Without a login they belong to a new device. */
  keys(account: string): Promise<Keys>;
  /** Replaces the keys of the account. */
  replaceKeys(account: string, keys: Keys): Promise<void>;
  /** @returns whether there were any */
  deleteKeys(account: string): Promise<boolean>;
  /** Adds a message with an id, unless it is known. */
  adding(account: string, message: WAMessage, isWaiting: boolean): Statement;
  add(account: string, message: WAMessage, isWaiting: boolean): Promise<void>;
  accepted(account: string, id: string): Promise<void>;
  find(account: string, id: string): Promise<Found | undefined>;
  /** The oldest first. */
  waiting(account: string): Promise<WAMessage[]>;
}

/** @param storage used on the first call, which creates the tables */
export function createStore(storage: Storage, library: Library, clock: { readonly now: () => number }): Store {
  const { proto } = library;
  /** Number of the last message that waited. */
  let counter = 0;
  const open = withTables(storage, "whatsapp-web", STEPS);
  const write = async (statements: readonly Statement[]) => (await open()).transaction(statements);
  const clear = (account: string) => ({ sql: "DELETE FROM whatsapp_web_keys WHERE account = ?", params: [account] });
  const put = (account: string, name: string, value: string) => ({
    sql: `INSERT INTO whatsapp_web_keys (account, name, value) VALUES (?, ?, ?)
      ON CONFLICT (account, name) DO UPDATE SET value = excluded.value`,
    params: [account, name, value],
  });
  const drop = (account: string, name: string) => ({
    sql: "DELETE FROM whatsapp_web_keys WHERE account = ? AND name = ?",
    params: [account, name],
  });

  function adding(account: string, { message, key, messageTimestamp, pushName }: WAMessage, isWaiting: boolean) {
    const facts = JSON.stringify({ key, pushName, messageTimestamp: Number(messageTimestamp) });
    const body = proto.Message.encode(message ?? {}).finish();
    const order = isWaiting ? (counter += 1) : 0;
    return {
      sql: `INSERT INTO whatsapp_web_messages (account, id, facts, body, waiting, at) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING`,
      params: [account, key.id ?? "", facts, body, order, clock.now()],
    };
  }

  const decoded = ({ facts, body }: MessageRow): WAMessage => ({
    ...(JSON.parse(facts) as WAMessage), // written above
    message: proto.Message.decode(body),
  });

  return {
    adding,
    async keys(account) {
      const storage = await open();
      const sql = "SELECT name, value FROM whatsapp_web_keys WHERE account = ?";
      const rows = await storage.all<{ name: string; value: string }>(sql, [account]);
      const newest = "SELECT MAX(waiting) AS newest FROM whatsapp_web_messages";
      counter = Math.max(counter, (await storage.get<{ newest: number | null }>(newest))?.newest ?? 0);
      const save: Write = (changed, more) => {
        const own = [...changed].map(([name, value]) =>
          value === undefined ? drop(account, name) : put(account, name, value),
        );
        return write([...own, ...more]);
      };
      return createKeys(library, new Map(rows.map(({ name, value }) => [name, value])), save);
    },
    async replaceKeys(account, keys) {
      await write([clear(account), ...[...keys.all()].map(([name, value]) => put(account, name, value))]);
    },
    async deleteKeys(account) {
      const [result] = await write([clear(account)]);
      return (result?.changes ?? 0) > 0;
    },
    async add(account, message, isWaiting) {
      await write([adding(account, message, isWaiting)]);
    },
    async accepted(account, id) {
      const sql = "UPDATE whatsapp_web_messages SET waiting = 0 WHERE account = ? AND id = ?";
      await write([{ sql, params: [account, id] }]);
    },
    async find(account, id) {
      const sql = "SELECT facts, body, waiting FROM whatsapp_web_messages WHERE account = ? AND id = ?";
      const row = await (await open()).get<MessageRow>(sql, [account, id]);
      return row && { message: decoded(row), isWaiting: row.waiting > 0 };
    },
    async waiting(account) {
      const sql = `SELECT facts, body, waiting FROM whatsapp_web_messages WHERE account = ? AND waiting > 0
        ORDER BY waiting`;
      return (await (await open()).all<MessageRow>(sql, [account])).map(decoded);
    },
  };
}

interface MessageRow {
  readonly facts: string;
  readonly body: Uint8Array;
  /** Order of arrival; 0: accepted. */
  readonly waiting: number;
}
