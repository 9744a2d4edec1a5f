/** What adapters remember, in tables of the gateway. */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { Lock, StateAdapter } from "chat";
import { withTables } from "@svc/kit/channels";
import { invalidRequest, Turns } from "@svc/sdk";
import type { Retention, SqlValue, Storage } from "@svc/sdk/storage";

/** Choice: bytes of one value, characters of a key, rows of an account, and writes after which its rows are counted. */
const [MAX_BYTES, MAX_KEY_CHARS, MAX_ROWS, COUNT_EVERY] = [1_000_000, 1_000, 20_000, 500];

/** Tables of this plugin. Append only. */
const STEPS = [
  `CREATE TABLE chat_sdk_state (
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    expires BIGINT,
    at BIGINT NOT NULL,
    PRIMARY KEY (account, name)
  )`,
  "CREATE INDEX chat_sdk_state_expires ON chat_sdk_state (expires)",
  "CREATE INDEX chat_sdk_state_at ON chat_sdk_state (account, at)",
];

export const RETENTION: Retention = {
  tables: ["chat_sdk_state"],
  holds: "what adapters of the chat SDK remember: seen deliveries, positions, direct chats of people, buttons",
  rule: `until the time that the adapter sets; the newest ${MAX_ROWS} entries of each account`,
  rows: [{ table: "chat_sdk_state", key: ["account", "name"], at: "expires", olderThanMs: 0 }],
};

/** One request of a network, while an adapter works on it. */
export interface Delivery {
  readonly signal: AbortSignal;
  /** Submitted messages. A rejection: the network must repeat the request. */
  readonly messages: Promise<void>[];
  /** Other work of the adapter. */
  readonly work: Promise<unknown>[];
  /** Resolves with `end`. */
  readonly ended: Promise<void>;
  end(): void;
  isOver: boolean;
}

export function createDelivery(signal: AbortSignal): Delivery {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { signal, messages: [], work: [], ended, end, isOver: false };
}

/** The delivery that the running code belongs to. */
export const deliveries = new AsyncLocalStorage<Delivery>();

/** @param ttlMs absent: never expires */
type Entry = readonly [key: string, value: unknown, ttlMs?: number | undefined];

export interface State extends StateAdapter {
  /** Ends the claims of a delivery: stores them if the gateway has its messages, else forgets them. */
  settle(delivery: Delivery, isAccepted: boolean): Promise<void>;
}

/** @returns the state of an account. @param storage used on the first call, which creates the table */
export function createStates(storage: Storage, clock: { readonly now: () => number }): (account: string) => State {
  const open = withTables(storage, "chat-sdk", STEPS);
  const states = new Map<string, State>();
  return (account) => {
    const state = states.get(account) ?? createState(open, account, clock);
    states.set(account, state);
    return state;
  };
}

/** The class `Chat` uses queues; adapters do not. */
const noQueue = async () => invalidRequest("the gateway has its own queues");

function createState(open: () => Promise<Storage>, account: string, { now }: { readonly now: () => number }): State {
  const [turns, locks, claims] = [
    new Turns(),
    new Map<string, Lock>(),
    new Map<string, { owner: Delivery; entry: Entry }>(),
  ];
  let writes = 0;

  async function run(sql: string, ...params: readonly SqlValue[]): Promise<boolean> {
    const most = `DELETE FROM chat_sdk_state WHERE account = ? AND at <
      (SELECT at FROM chat_sdk_state WHERE account = ? ORDER BY at DESC LIMIT 1 OFFSET ?)`;
    const isDue = ++writes % COUNT_EVERY === 0;
    const trim = isDue ? [{ sql: most, params: [account, account, MAX_ROWS - 1] }] : [];
    const [result] = await (await open()).transaction([{ sql, params }, ...trim]);
    return (result?.changes ?? 0) > 0;
  }

  /** @param isNew writes only if there is no such key, or it has expired @returns whether it was written */
  async function write([key, value, ttlMs]: Entry, isNew = false): Promise<boolean> {
    const json = JSON.stringify(value ?? null);
    if (key.length > MAX_KEY_CHARS || Buffer.byteLength(json) > MAX_BYTES)
      invalidRequest(`a value of the adapter is too large: at most ${MAX_BYTES} bytes are kept`);
    const at = now();
    const sql = `INSERT INTO chat_sdk_state (account, name, value, expires, at) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (account, name) DO UPDATE SET value = excluded.value, expires = excluded.expires, at = excluded.at`;
    const params = [account, key, json, ttlMs === undefined ? null : at + Math.trunc(ttlMs), at];
    return isNew ? run(`${sql} WHERE chat_sdk_state.expires <= ?`, ...params, at) : run(sql, ...params);
  }

  async function stored(key: string): Promise<unknown> {
    const sql = `SELECT value FROM chat_sdk_state WHERE account = ? AND name = ? AND (expires IS NULL OR expires > ?)`;
    const row = await (await open()).get<{ value: string }>(sql, [account, key, now()]);
    return row === undefined ? null : (JSON.parse(row.value) as unknown);
  }

  async function read(key: string): Promise<unknown> {
    const known = claims.get(key);
    return known && known.owner === deliveries.getStore() ? known.entry[1] : stored(key);
  }

  /**
   * Adapters claim a delivery before they hand over its messages. The claim counts when the gateway has them; a repetition
   * that arrives earlier waits, because the first one may fail.
   */
  async function claim(entry: Entry): Promise<boolean> {
    const [key] = entry;
    const owner = deliveries.getStore();
    for (let other = claims.get(key); other; other = claims.get(key)) {
      if (other.owner === owner) return false;
      await other.owner.ended;
    }
    if (!owner || owner.isOver) return write(entry, true);
    claims.set(key, { owner, entry });
    const isKnown = (await stored(key)) !== null;
    if (isKnown) claims.delete(key);
    return !isKnown;
  }

  const list = async (key: string) => {
    const value = await read(key);
    return Array.isArray(value) ? (value as unknown[]) : [];
  };
  const held = (key: string) => {
    const lock = locks.get(key);
    return lock && lock.expiresAt > now() ? lock : undefined;
  };

  return {
    async settle(delivery, isAccepted) {
      delivery.isOver = true; // further claims of it count at once
      const own = [...claims.values()].filter(({ owner }) => owner === delivery);
      try {
        if (isAccepted) for (const { entry } of own) await write(entry, true);
      } finally {
        for (const { entry } of own) claims.delete(entry[0]);
        delivery.end();
      }
    },
    connect: async () => {},
    disconnect: async () => {},
    // The types of values are what the adapter has stored.
    get: async <T>(key: string) => (await read(key)) as T | null,
    getList: async <T>(key: string) => (await list(key)) as T[],
    set: async (...entry) => void (await write(entry)),
    setIfNotExists: (...entry) => claim(entry),
    async delete(key) {
      if (claims.get(key)?.owner === deliveries.getStore()) claims.delete(key);
      await run("DELETE FROM chat_sdk_state WHERE account = ? AND name = ?", account, key);
    },
    appendToList: (key, value, { maxLength = Infinity, ttlMs } = {}) =>
      turns.take(key, async () => {
        await write([key, [...(await list(key)), value].slice(-Math.max(1, maxLength)), ttlMs]);
      }),
    enqueue: noQueue,
    dequeue: noQueue,
    queueDepth: noQueue,
    // One process runs an account.
    async acquireLock(threadId, ttlMs) {
      if (held(threadId)) return null;
      const lock = { threadId, token: randomUUID(), expiresAt: now() + ttlMs };
      locks.set(threadId, lock);
      return lock;
    },
    async extendLock({ threadId, token }, ttlMs) {
      const lock = held(threadId);
      if (lock?.token !== token) return false;
      locks.set(threadId, { ...lock, expiresAt: now() + ttlMs });
      return true;
    },
    async releaseLock({ threadId, token }) {
      if (locks.get(threadId)?.token === token) locks.delete(threadId);
    },
    forceReleaseLock: async (threadId) => void locks.delete(threadId),
    isSubscribed: async () => true,
    subscribe: async () => {},
    unsubscribe: async () => {},
  };
}
