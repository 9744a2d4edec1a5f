/** Sessions in three tables of their own, durable as the real ones, with nothing that runs do not need. */
import { randomUUID } from "node:crypto";
import { GatewayError, invalidRequest, notFound, type Origin } from "@svc/sdk";
import type { Message } from "@svc/sdk/models";
import type { SessionEntry, Sessions, TranscriptItem } from "@svc/sdk/sessions";
import type { Statement, Storage } from "@svc/sdk/storage";

const STEPS = [
  "CREATE TABLE fake_entries (key TEXT PRIMARY KEY, entry TEXT NOT NULL)",
  "CREATE TABLE fake_messages (place INTEGER PRIMARY KEY, key TEXT NOT NULL, session TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL)",
  "CREATE TABLE fake_compactions (key TEXT PRIMARY KEY, summary TEXT NOT NULL, first_id TEXT NOT NULL, origin TEXT)",
];

export interface FakeSessionsOptions {
  readonly storage: Storage;
  readonly now: () => number;
  readonly defaultAgentId: string;
  /** Asked before a reset. */
  readonly replacing: (key: string) => Promise<boolean>;
}

export async function openFakeSessions(
  options: FakeSessionsOptions,
): Promise<Sessions & { readonly freshened: string[] }> {
  const { storage, now, defaultAgentId, replacing } = options;
  await storage.migrate("fake-sessions", STEPS);
  const mainKey = `agent:${defaultAgentId}:main`;
  const freshened: string[] = [];

  const get = async (key: string): Promise<SessionEntry | undefined> => {
    const row = await storage.get<{ entry: string }>("SELECT entry FROM fake_entries WHERE key = ?", [key]);
    return row && (JSON.parse(row.entry) as SessionEntry);
  };
  const put = (key: string, entry: object): Statement => ({
    sql: "INSERT INTO fake_entries (key, entry) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET entry = excluded.entry",
    params: [key, JSON.stringify(entry)],
  });
  const insert = (key: string): Statement => ({
    sql: "INSERT INTO fake_entries (key, entry) VALUES (?, ?) ON CONFLICT (key) DO NOTHING",
    params: [key, JSON.stringify({ sessionId: randomUUID(), updatedAt: now() })],
  });
  const merge = async (key: string, patch: object): Promise<SessionEntry> => {
    const entry = { ...((await get(key)) ?? { sessionId: randomUUID() }), updatedAt: now(), ...patch } as SessionEntry;
    await storage.transaction([put(key, entry)]);
    return (await get(key)) ?? entry;
  };
  const session = "(SELECT json_extract(entry, '$.sessionId') FROM fake_entries WHERE key = ?)";
  const tail = async (key: string, limit: number, from = 0): Promise<TranscriptItem[]> => {
    const rows = await storage.all<{ id: string; body: string }>(
      `SELECT id, body FROM fake_messages WHERE key = ? AND session = ${session} AND place >= ? ORDER BY place DESC LIMIT ?`,
      [key, key, from, limit],
    );
    return rows.toReversed().map(({ id, body }) => ({ id, message: JSON.parse(body) as Message }));
  };

  const agentOf = (key: string) => key.split(":")[1] ?? defaultAgentId;
  return {
    freshened,
    location: "fake",
    defaults: () => ({ defaultAgentId, mainKey: "main", mainSessionKey: mainKey, scope: "per-sender" }),
    canonicalKey(key) {
      if (key === "agent:") invalidRequest("malformed session key");
      if (key.startsWith("agent:") || key === "global") return key.toLowerCase();
      return `agent:${defaultAgentId}:${key.toLowerCase()}`;
    },
    agentOf,
    get,
    follow: () => () => undefined,
    row: async (key) => {
      const entry = await get(key);
      return entry && { key, kind: "direct", totalTokensFresh: false, ...entry };
    },
    async ensure(key, patch = {}) {
      const entry = await get(key);
      return entry && Object.keys(patch).length === 0 ? entry : merge(key, patch);
    },
    begin: async (key, sessionId) => (await get(key)) ?? merge(key, { sessionId }),
    async update(key, patch) {
      if (!(await get(key))) notFound(`no session ${key}`);
      return merge(key, patch);
    },
    async append(key, messages, alongside = []) {
      const items = messages.map((message) => ({ id: randomUUID().slice(0, 8), message }));
      await storage.transaction([
        insert(key),
        ...items.map(({ id, message }) => ({
          sql: `INSERT INTO fake_messages (key, session, id, body) VALUES (?, ${session}, ?, ?)`,
          params: [key, key, id, JSON.stringify(message)],
        })),
        ...alongside,
      ]);
      return items.map(({ id }) => id);
    },
    async withdraw(key, ids, { unusedSince, alongside = [] } = {}) {
      const entry = await get(key);
      await storage.transaction([
        ...ids.map((id) => ({ sql: "DELETE FROM fake_messages WHERE key = ? AND id = ?", params: [key, id] })),
        ...(entry && unusedSince !== undefined ? [put(key, { ...entry, updatedAt: unusedSince })] : []),
        ...alongside,
      ]);
    },
    transcript: (key, limit) => tail(key, limit),
    page: async (key, { limit }) => ({ items: await tail(key, limit), hasMore: false, firstKept: [] }),
    message: async (key, id) => (await tail(key, 1_000)).find((item) => item.id === id)?.message,
    async rewind() {
      throw new Error("these sessions have no branches");
    },
    async context(key, limit) {
      const rows = await storage.all<{ id: string | null; body: string; summary: string | null }>(
        `SELECT * FROM (
           SELECT m.id, m.body, NULL AS summary, m.place FROM fake_messages m WHERE m.key = ? AND m.session = ${session}
             AND m.place >= COALESCE((SELECT k.place FROM fake_compactions c JOIN fake_messages k ON k.id = c.first_id WHERE c.key = ?), 0)
           UNION ALL SELECT origin, '', summary, 9e9 FROM fake_compactions WHERE key = ?)
         ORDER BY place DESC LIMIT ?`,
        [key, key, key, key, limit + 1],
      );
      const items = rows.filter(({ summary }) => summary === null).slice(0, limit);
      const compaction = rows.find(({ summary }) => summary !== null);
      return {
        summary: compaction?.summary ?? undefined,
        ...(compaction?.id ? { origin: JSON.parse(compaction.id) as Origin } : {}),
        items: items.toReversed().map(({ id, body }) => ({ id: id ?? "", message: JSON.parse(body) as Message })),
      };
    },
    async addCompaction(key, { summary, firstKeptId, origin }) {
      const entry = (await get(key)) ?? notFound(`no session ${key}`);
      await storage.transaction([
        {
          sql: "INSERT OR REPLACE INTO fake_compactions (key, summary, first_id, origin) VALUES (?, ?, ?, ?)",
          params: [key, summary, firstKeptId, origin ? JSON.stringify(origin) : null],
        },
        put(key, { ...entry, compactionCount: Number(entry["compactionCount"] ?? 0) + 1 }),
      ]);
    },
    async freshen(key) {
      freshened.push(key);
      const entry = await get(key);
      return entry ? { entry, restarted: false } : { entry: await merge(key, {}), restarted: true };
    },
    route: ({ channel, accountId = "default" }) => ({
      agentId: defaultAgentId,
      channel,
      accountId,
      sessionKey: mainKey,
      mainSessionKey: mainKey,
      matchedBy: "default",
    }),
    sendPolicy: (_key, entry) => entry?.sendPolicy ?? "allow",
    async recent() {
      return [];
    },
    count: async () => 0,
    mayTouch: async (from, target) => agentOf(from) === agentOf(target),
    async reset(key) {
      if (!(await replacing(key))) throw new GatewayError("UNAVAILABLE", `session ${key} is still active`);
      await storage.transaction([
        put(key, { sessionId: randomUUID(), updatedAt: now() }),
        { sql: "DELETE FROM fake_compactions WHERE key = ?", params: [key] },
      ]);
      return (await get(key)) ?? notFound(key);
    },
  };
}
