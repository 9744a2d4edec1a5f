/** Fills a store through the `Sessions` service, like a plugin. */
import { randomUUID } from "node:crypto";
import type { SystemEvents } from "@svc/sdk/heartbeat";
import type { Message } from "@svc/sdk/models";
import type { Sessions } from "@svc/sdk/sessions";
import type { Storage } from "@svc/sdk/storage";

/** Concurrent writes: they share commits, and the queue stays short. */
const TOGETHER = 250;

export interface Amount {
  readonly sessions: number;
  readonly messages: number;
  /** Session that gets the messages. */
  readonly sessionKey: string;
}

/** Resolves when everything is on disk. */
export async function seed(sessions: Sessions, { sessions: count, messages, sessionKey }: Amount): Promise<void> {
  for (let from = 0; from < count; from += TOGETHER) {
    const numbers = Array.from({ length: Math.min(TOGETHER, count - from) }, (_, index) => from + index);
    await Promise.all(
      numbers.map((number) =>
        sessions.ensure(`agent:main:seeded-${number}`, {
          displayName: `Conversation ${number}`,
          model: "example-model",
          modelProvider: "example",
          inputTokens: number,
          outputTokens: number,
          totalTokens: 2 * number,
        }),
      ),
    );
  }
  for (let from = 0; from < messages; from += TOGETHER) {
    const numbers = Array.from({ length: Math.min(TOGETHER, messages - from) }, (_, index) => from + index);
    await sessions.append(sessionKey, numbers.map(message));
  }
}

/** A user message, then an answer of about 300 characters. */
function message(number: number): Message {
  const timestamp = 1_700_000_000_000 + number;
  if (number % 2 === 0)
    return { role: "user", content: [{ type: "text", text: `Question number ${number}?` }], timestamp };
  return {
    role: "assistant",
    content: [{ type: "text", text: `Answer number ${number}. `.repeat(14) }],
    api: "example",
    provider: "example",
    model: "example-model",
    stopReason: "stop",
    timestamp,
  };
}

/** Stores events that wake nobody: first some with texts of their own, then some with the same text. */
export async function seedEvents(
  events: SystemEvents,
  sessionKey: string,
  { waiting, repeats, text }: { readonly waiting: number; readonly repeats: number; readonly text: string },
): Promise<void> {
  const texts = (number: number) => (number < waiting ? `Event number ${number}. ${text}` : text);
  for (let from = 0; from < waiting + repeats; from += TOGETHER) {
    const numbers = Array.from({ length: Math.min(TOGETHER, waiting + repeats - from) }, (_, index) => from + index);
    await Promise.all(
      numbers.map((number) =>
        events.add({
          id: randomUUID(),
          sessionKey,
          text: texts(number),
          wake: "next-heartbeat",
          reason: "bench",
          at: Date.now(),
        }),
      ),
    );
  }
}

/** The columns in which the copies of a row differ, as SQL of the number of the copy. */
const COPIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  webhook_runs: { run_id: "run_id || '-' || i", accepted_at: "accepted_at - i", ended_at: "ended_at - i" },
  cron_fires: {
    due_at: "due_at - i",
    through_at: "through_at - i",
    settled_at: "settled_at - i",
    run_id: "run_id || '-' || i",
  },
  approvals: { id: "id || '-' || i", created_at: "created_at - i" },
};

/** Copies one record of each kind `times` times, each older than the one before. */
export async function copyRecords(storage: Storage, times: number): Promise<void> {
  for (const [table, changes] of Object.entries(COPIES)) {
    const columns = await storage.all<{ name: string }>("SELECT name FROM pragma_table_info(?)", [table]);
    const names = columns.map(({ name }) => name);
    const sql = `WITH RECURSIVE copies(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM copies WHERE i < ?)
      INSERT INTO ${table} (${names.join(", ")}) SELECT ${names.map((name) => changes[name] ?? name).join(", ")}
      FROM (SELECT * FROM ${table} ORDER BY rowid DESC LIMIT 1), copies`;
    const [copied] = await storage.transaction([{ sql, params: [times] }]);
    if (copied?.changes !== times) throw new Error(`${table} has no row to copy`);
  }
}
