/** Events on disk: waiting, handed to a run, told. Table `heartbeat_events`. */
import type { SystemEvent } from "@svc/sdk/heartbeat";
import type { Retention, Row, SqlValue, Statement, Storage } from "@svc/sdk/storage";
import { BEAT_STEPS } from "./beat-store.ts";
import { likenessOf, storedText } from "./event-text.ts";

/** Events that may wait for one session. */
export const MAX_WAITING = 1_000;

/**
 * `seq`: order within a session. `status`: `waiting`; `told`: a run that ended well had it in its prompt; `repeated`: it said what the one before it
 * said, which was still waiting. `run_id`: the run that has a waiting one in its prompt.
 */
const STEPS = [
  `CREATE TABLE heartbeat_events (
    id TEXT PRIMARY KEY,
    seq BIGINT NOT NULL,
    session_key TEXT NOT NULL,
    text TEXT NOT NULL,
    likeness TEXT NOT NULL,
    wake TEXT NOT NULL,
    reason TEXT NOT NULL,
    at BIGINT NOT NULL,
    status TEXT NOT NULL,
    run_id TEXT,
    settled_at BIGINT
  )`,
  "CREATE INDEX heartbeat_events_session ON heartbeat_events (session_key, seq)",
  "CREATE INDEX heartbeat_events_waiting ON heartbeat_events (session_key, seq) WHERE status = 'waiting'",
  "CREATE INDEX heartbeat_events_run ON heartbeat_events (run_id) WHERE run_id IS NOT NULL",
  "CREATE INDEX heartbeat_events_settled ON heartbeat_events (settled_at) WHERE settled_at IS NOT NULL",
];

const FREE = "status = 'waiting' AND run_id IS NULL";

/** Choice: the times, and the number. The id of an event is known meanwhile, so that no event is stored twice. */
export const EVENT_RETENTION: Retention = {
  tables: ["heartbeat_events"],
  holds: "events that wait for a session, or were told to it",
  rule: "24 hours after they were told, the newest 50,000; waiting ones: 30 days, at most 1,000 for one session",
  rows: [
    { table: "heartbeat_events", key: ["id"], at: "settled_at", olderThanMs: 86_400_000, most: 50_000 },
    { table: "heartbeat_events", key: ["id"], at: "at", olderThanMs: 30 * 86_400_000, only: FREE },
  ],
};

/** A row, as far as it is read back. */
interface EventRow extends Row {
  readonly id: string;
  readonly session_key: string;
  readonly text: string;
  readonly wake: SystemEvent["wake"];
  readonly reason: string;
  readonly at: number | bigint;
}

export class EventStore {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  open(): Promise<void> {
    return this.#storage.migrate("heartbeat", [...STEPS, ...BEAT_STEPS]);
  }

  /** @param now epoch ms */
  add(event: SystemEvent, now: number): readonly Statement[] {
    return [insert(event, now), room(event)];
  }

  /** Events that wait for a session, those a run has included. */
  async occupied(sessionKey: string): Promise<number> {
    const row = await this.#storage.get<{ n: number | bigint }>(
      "SELECT count(*) AS n FROM heartbeat_events WHERE session_key = ? AND status = 'waiting'",
      [sessionKey],
    );
    return Number(row?.n ?? 0);
  }

  /** Those no run has, oldest first. */
  async waiting(sessionKey: string, limit = MAX_WAITING): Promise<SystemEvent[]> {
    const sql = `SELECT * FROM heartbeat_events WHERE session_key = ? AND ${FREE} ORDER BY seq, id LIMIT ?`;
    return (await this.#storage.all<EventRow>(sql, [sessionKey, limit])).map(toEvent);
  }

  async countWaiting(sessionKey: string): Promise<number> {
    const sql = `SELECT count(*) AS n FROM heartbeat_events WHERE session_key = ? AND ${FREE}`;
    return Number((await this.#storage.get<{ n: number | bigint }>(sql, [sessionKey]))?.n ?? 0);
  }

  /** Hands events to a run. @returns ids of those that were still to be had */
  async tie(ids: readonly string[], runId: string): Promise<ReadonlySet<string>> {
    const places = ids.map(() => "?").join(", ");
    const [tied] = await this.#storage.transaction([
      {
        sql: `UPDATE heartbeat_events SET run_id = ? WHERE id IN (${places}) AND ${FREE} RETURNING id`,
        params: [runId, ...ids],
      },
    ]);
    return new Set((tied?.rows ?? []).map(({ id }) => String(id)));
  }

  /** The run had them in its prompt and ended well. */
  async told(runId: string, now: number): Promise<void> {
    await this.#change("status = 'told', settled_at = ?", [now], runId);
  }

  /** The run did not come to its end: they wait again. @returns whether a session is to be woken for one of them */
  async giveBack(runId: string): Promise<boolean> {
    const rows = await this.#change("run_id = NULL", [], runId);
    return rows.some(({ wake }) => wake === "now");
  }

  /** Runs that have events which are not settled. */
  async tiedRuns(): Promise<string[]> {
    const sql = "SELECT DISTINCT run_id FROM heartbeat_events WHERE run_id IS NOT NULL AND status = 'waiting'";
    return (await this.#storage.all<{ run_id: string }>(sql)).map(({ run_id }) => run_id);
  }

  /** Sessions that are to be woken. */
  async urgentSessions(): Promise<string[]> {
    const sql = `SELECT DISTINCT session_key FROM heartbeat_events WHERE ${FREE} AND wake = 'now'`;
    return (await this.#storage.all<{ session_key: string }>(sql)).map(({ session_key }) => session_key);
  }

  async isUrgent(sessionKey: string): Promise<boolean> {
    const sql = `SELECT id FROM heartbeat_events WHERE session_key = ? AND ${FREE} AND wake = 'now' LIMIT 1`;
    return (await this.#storage.get(sql, [sessionKey])) !== undefined;
  }

  async #change(set: string, values: readonly SqlValue[], runId: string): Promise<readonly Row[]> {
    const sql = `UPDATE heartbeat_events SET ${set} WHERE run_id = ? AND status = 'waiting' RETURNING wake`;
    const [changed] = await this.#storage.transaction([{ sql, params: [...values, runId] }]);
    return changed?.rows ?? [];
  }
}

/**
 * Stores it once. Spec: http/webhooks.md §10: one that says what the newest of its session says, which still waits, is
 * not told again; it is kept as `repeated`, so that its id is known. Choice: not when only the second asks to be woken for.
 */
function insert({ id, sessionKey, text, wake, reason, at }: SystemEvent, now: number): Statement {
  const kept = storedText(text);
  const likeness = likenessOf(kept);
  return {
    sql: `INSERT INTO heartbeat_events (id, seq, session_key, text, likeness, wake, reason, at, status, settled_at)
      SELECT ?, (SELECT coalesce(max(seq), 0) + 1 FROM heartbeat_events WHERE session_key = ?), ?, ?, ?, ?, ?, ?,
        known.status, CASE WHEN known.status = 'repeated' THEN CAST(? AS BIGINT) END
      FROM (SELECT CASE WHEN EXISTS (
        SELECT 1 FROM heartbeat_events last
        WHERE last.session_key = ? AND last.likeness = ? AND last.status = 'waiting' AND last.run_id IS NULL
          AND (last.wake = 'now' OR ? = 'next-heartbeat')
          AND last.seq = (SELECT max(seq) FROM heartbeat_events WHERE session_key = ? AND status <> 'repeated')
      ) THEN 'repeated' ELSE 'waiting' END AS status) known
      WHERE true ON CONFLICT (id) DO NOTHING`,
    params: [id, sessionKey, sessionKey, kept, likeness, wake, reason, at, now, sessionKey, likeness, wake, sessionKey],
  };
}

/** A conflict when the event, stored just before, is one too many. */
function room({ id, sessionKey }: SystemEvent): Statement {
  return {
    sql: `UPDATE heartbeat_events SET seq = seq WHERE id = ? AND ${MAX_WAITING} <
      (SELECT count(*) FROM heartbeat_events WHERE session_key = ? AND status = 'waiting')`,
    params: [id, sessionKey],
    expectChanges: 0,
  };
}

function toEvent({ id, session_key: sessionKey, text, wake, reason, at }: EventRow): SystemEvent {
  return { id, sessionKey, text, wake, reason, at: Number(at) };
}
