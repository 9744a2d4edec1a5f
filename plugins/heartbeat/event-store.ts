/** Stored events: waiting, assigned to a run, reported, or counted on another event. Table `heartbeat_events`. */
import type { Origin } from "@svc/sdk";
import type { SystemEvent } from "@svc/sdk/heartbeat";
import type { Owner, Retention, Row, SqlValue, Statement, Storage } from "@svc/sdk/storage";
import { BEAT_STEPS, OWNER_STEPS } from "./beat-store.ts";
import { likenessOf, storedText } from "./event-text.ts";
import { type Folded, summaryOf, type WaitingEvent } from "./summary.ts";

/** Choice: most waiting events of one session; the oldest surplus ones are folded into one. */
export const MAX_WAITING = 1_000;
/** Choice: most ids of repeated and folded events that are remembered for each session. */
export const MAX_REPEATED = 2_000;
/** Choice: most rows that one step folds or deletes. */
const STEP = 500;

/**
 * `seq`: order within a session. `status`: `waiting`; `told`: a successful run had it in its prompt; `repeated`: represented by another row,
 * either a waiting one with the same text or the summary it was folded into; only its id is needed. `run_id`: the run a waiting event is assigned to.
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

/**
 * Appended after those of the beats. `repeats`: number of equal events that arrived while it waited. `folded`: JSON of `Folded`, for
 * a summary. `origin`: JSON of the author. `is_marked`: the text already has markers for external content.
 */
const LATER_STEPS = [
  "ALTER TABLE heartbeat_events ADD COLUMN repeats BIGINT NOT NULL DEFAULT 0",
  "ALTER TABLE heartbeat_events ADD COLUMN folded TEXT",
  "CREATE INDEX heartbeat_events_repeated ON heartbeat_events (session_key, seq) WHERE status = 'repeated'",
  "ALTER TABLE heartbeat_events ADD COLUMN origin TEXT",
  "ALTER TABLE heartbeat_events ADD COLUMN is_marked BIGINT NOT NULL DEFAULT 0",
];

/** Appended last. `waker`: the owner that wakes the session for an urgent event. */
const WAKER_STEPS = ["ALTER TABLE heartbeat_events ADD COLUMN waker TEXT"];

const FREE = "status = 'waiting' AND run_id IS NULL";

/** Choice: all limits. While the id of an event is kept, the event is not stored again. */
export const EVENT_RETENTION: Retention = {
  tables: ["heartbeat_events"],
  holds: "events that wait for a session or were delivered to it",
  rule: "delivered: 24 hours, newest 50,000; waiting: 30 days, at most 1,000 per session",
  rows: [
    { table: "heartbeat_events", key: ["id"], at: "settled_at", olderThanMs: 86_400_000, most: 50_000 },
    { table: "heartbeat_events", key: ["id"], at: "at", olderThanMs: 30 * 86_400_000, only: FREE },
  ],
};

/** The columns that are read back. */
interface EventRow extends Row {
  readonly id: string;
  readonly session_key: string;
  readonly text: string;
  readonly wake: SystemEvent["wake"];
  readonly reason: string;
  readonly at: number | bigint;
  readonly repeats: number | bigint;
  readonly folded: string | null;
  readonly origin: string | null;
  readonly is_marked: number | bigint;
  readonly run_id: string | null;
}

export class EventStore {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  open(): Promise<void> {
    return this.#storage.migrate("heartbeat", [
      ...STEPS,
      ...BEAT_STEPS,
      ...LATER_STEPS,
      ...OWNER_STEPS,
      ...WAKER_STEPS,
    ]);
  }

  /** @param now epoch ms @param waker id of the owner that wakes the session */
  add(event: SystemEvent, now: number, waker: string | null = null): readonly Statement[] {
    const text = storedText(event.text);
    const likeness = likenessOf(text, event.origin);
    return [count(event, likeness), insert({ ...event, text, waker }, likeness, now)];
  }

  /** Unassigned events, oldest first. @param runId also events of this run, which restarts after an interruption */
  async waiting(sessionKey: string, limit = MAX_WAITING, runId: string | null = null): Promise<WaitingEvent[]> {
    const sql = `SELECT * FROM heartbeat_events WHERE session_key = ? AND status = 'waiting' AND (run_id IS NULL OR run_id = ?)
      ORDER BY seq, id LIMIT ?`;
    return (await this.#storage.all<EventRow>(sql, [sessionKey, runId, limit])).map(toEvent);
  }

  async countWaiting(sessionKey: string): Promise<number> {
    const sql = `SELECT count(*) AS n FROM heartbeat_events WHERE session_key = ? AND ${FREE}`;
    return Number((await this.#storage.get<{ n: number | bigint }>(sql, [sessionKey]))?.n ?? 0);
  }

  /** Sessions with more waiting events than allowed. */
  async crowded(): Promise<string[]> {
    const sql = `SELECT session_key FROM heartbeat_events WHERE ${FREE} GROUP BY session_key HAVING count(*) > ?`;
    return (await this.#storage.all<{ session_key: string }>(sql, [MAX_WAITING])).map(({ session_key }) => session_key);
  }

  /**
   * Folds the oldest events of a session into one while too many wait, and deletes surplus ids of repeated events.
   * @param now epoch ms @throws GatewayError `CONFLICT` when one of the events was assigned to a run meanwhile: to be called again
   */
  async tidy(sessionKey: string, now: number): Promise<void> {
    for (let surplus = await this.#surplus(sessionKey); surplus > 0; surplus -= STEP) {
      const oldest = await this.waiting(sessionKey, Math.min(surplus, STEP) + 1);
      await this.#fold(oldest, now);
    }
    const old = `SELECT id FROM heartbeat_events WHERE session_key = ? AND status = 'repeated' ORDER BY seq DESC LIMIT ${STEP} OFFSET ?`;
    for (let deleted = STEP; deleted === STEP;) {
      const sql = `DELETE FROM heartbeat_events WHERE id IN (${old})`;
      const [result] = await this.#storage.transaction([{ sql, params: [sessionKey, MAX_REPEATED] }]);
      deleted = result?.changes ?? 0;
    }
  }

  async #surplus(sessionKey: string): Promise<number> {
    return (await this.countWaiting(sessionKey)) - MAX_WAITING;
  }

  async #fold(events: readonly WaitingEvent[], now: number): Promise<void> {
    const last = events.at(-1);
    if (!last) return;
    const { id, sessionKey, text, wake, reason, at, folded, origin, isMarked } = summaryOf(events, last);
    const ids = events.map((event) => event.id);
    await this.#storage.transaction([
      {
        sql: `UPDATE heartbeat_events SET status = 'repeated', text = '', folded = NULL, settled_at = ?
          WHERE id IN (${ids.map(() => "?").join(", ")}) AND ${FREE}`,
        params: [now, ...ids],
        expectChanges: ids.length,
      },
      {
        sql: `INSERT INTO heartbeat_events
            (id, seq, session_key, text, likeness, wake, reason, at, status, folded, origin, is_marked, waker)
          SELECT ?, seq, ?, ?, '', ?, ?, ?, 'waiting', ?, ?, ?, waker FROM heartbeat_events WHERE id = ?`,
        params: [
          id,
          sessionKey,
          text,
          wake,
          reason,
          at,
          JSON.stringify(folded),
          jsonOf(origin),
          isMarked === true ? 1 : 0,
          last.id,
        ],
      },
    ]);
  }

  /** Assigns events to a run. @returns ids of the events that were still unassigned */
  async tie(ids: readonly string[], runId: string): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    const places = ids.map(() => "?").join(", ");
    const [tied] = await this.#storage.transaction([
      {
        sql: `UPDATE heartbeat_events SET run_id = ? WHERE id IN (${places}) AND ${FREE} RETURNING id`,
        params: [runId, ...ids],
      },
    ]);
    return new Set((tied?.rows ?? []).map(({ id }) => String(id)));
  }

  /** Marks the events of a successful run as reported. */
  async told(runId: string, now: number): Promise<void> {
    await this.#change("status = 'told', settled_at = ?", [now], runId);
  }

  /** Makes the events of a run wait again. @param waker as in `add` @returns whether one of them is urgent */
  async giveBack(runId: string, waker: string | null = null): Promise<boolean> {
    const rows = await this.#change("run_id = NULL, waker = ?", [waker], runId);
    return rows.some(({ wake }) => wake === "now");
  }

  /** Runs with assigned events that are not settled. */
  async tiedRuns(): Promise<string[]> {
    const sql = "SELECT DISTINCT run_id FROM heartbeat_events WHERE run_id IS NOT NULL AND status = 'waiting'";
    return (await this.#storage.all<{ run_id: string }>(sql)).map(({ run_id }) => run_id);
  }

  /** Sessions with urgent waiting events. */
  async urgentSessions(): Promise<string[]> {
    const sql = `SELECT DISTINCT session_key FROM heartbeat_events WHERE ${FREE} AND wake = 'now'`;
    return (await this.#storage.all<{ session_key: string }>(sql)).map(({ session_key }) => session_key);
  }

  /** Takes the urgent events that nobody wakes a session for: their gateway or generation has ended. @returns their sessions */
  async takeUrgent(owner: Owner): Promise<string[]> {
    const free = owner.free("waker");
    const left = `${FREE} AND wake = 'now' AND ${free.sql}`;
    const first = await this.#storage.get(`SELECT id FROM heartbeat_events WHERE ${left} LIMIT 1`, free.params);
    if (!first) return []; // a start writes nothing, so that it succeeds with a full disk
    const sql = `UPDATE heartbeat_events SET waker = ? WHERE ${left} RETURNING session_key`;
    const [taken] = await this.#storage.transaction([{ sql, params: [owner.id, ...free.params] }]);
    return [...new Set((taken?.rows ?? []).map((row) => String(row["session_key"])))];
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
 * Whether the newest waiting event of a session has the same text as a new one. Choice: not if only the new one asks for a
 * wake. Spec: http/webhooks.md §10.
 */
const LIKE_NEWEST = `session_key = ? AND likeness = ? AND (wake = 'now' OR ? = 'next-heartbeat') AND ${FREE} AND seq =
  (SELECT seq FROM heartbeat_events WHERE session_key = ? AND ${FREE} ORDER BY seq DESC LIMIT 1)`;

function likeParams({ sessionKey, wake }: SystemEvent, likeness: string): readonly SqlValue[] {
  return [sessionKey, likeness, wake, sessionKey];
}

/** Counts a new event on the equal waiting one. */
function count(event: SystemEvent, likeness: string): Statement {
  return {
    sql: `UPDATE heartbeat_events SET repeats = repeats + 1 WHERE ${LIKE_NEWEST}
      AND NOT EXISTS (SELECT 1 FROM heartbeat_events known WHERE known.id = ?)`,
    params: [...likeParams(event, likeness), event.id],
  };
}

/** Stores a new event once; of an event that was counted, only the id. */
function insert(event: SystemEvent & { readonly waker: string | null }, likeness: string, now: number): Statement {
  const { id, sessionKey, text, wake, reason, at, origin, isMarked, waker } = event;
  return {
    sql: `INSERT INTO heartbeat_events
        (id, seq, session_key, text, likeness, wake, reason, at, origin, is_marked, waker, status, settled_at)
      SELECT ?, (SELECT coalesce(max(seq), 0) + 1 FROM heartbeat_events WHERE session_key = ?), ?,
        CASE WHEN known.is_repeated THEN '' ELSE ? END, ?, ?, ?, ?, ?, CAST(? AS BIGINT), CAST(? AS TEXT),
        CASE WHEN known.is_repeated THEN 'repeated' ELSE 'waiting' END,
        CASE WHEN known.is_repeated THEN CAST(? AS BIGINT) END
      FROM (SELECT EXISTS (SELECT 1 FROM heartbeat_events WHERE ${LIKE_NEWEST}) AS is_repeated) known
      WHERE true ON CONFLICT (id) DO NOTHING`,
    params: [
      id,
      sessionKey,
      sessionKey,
      text,
      likeness,
      wake,
      reason,
      at,
      jsonOf(origin),
      isMarked === true ? 1 : 0,
      waker,
      now,
      ...likeParams(event, likeness),
    ],
  };
}

function toEvent(row: EventRow): WaitingEvent {
  const {
    id,
    session_key: sessionKey,
    text,
    wake,
    reason,
    at,
    repeats,
    folded,
    origin,
    is_marked,
    run_id: runId,
  } = row;
  return {
    id,
    sessionKey,
    text,
    wake,
    reason,
    at: Number(at),
    ...(runId === null ? {} : { runId }),
    ...(Number(repeats) === 0 ? {} : { repeats: Number(repeats) }),
    ...(origin === null ? {} : { origin: JSON.parse(origin) as Origin }), // written by `insert` and `#fold`
    ...(Number(is_marked) === 0 ? {} : { isMarked: true }),
    ...(folded === null ? {} : { folded: JSON.parse(folded) as Folded }), // written by `#fold`
  };
}

function jsonOf(origin: Origin | undefined): string | null {
  return origin === undefined ? null : JSON.stringify(origin);
}
