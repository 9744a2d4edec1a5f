/**
 * SQL of the session store, as values. Pure.
 *
 * Decisions that depend on the stored state are part of a statement, because many transactions share one
 * commit: the session of a message, its seq, and the result of a merge.
 */
import type { Message } from "@svc/sdk/models";
import { type Dialect, sqlFor, type SqlValue, type Statement } from "@svc/sdk/storage";
import { isCronRun, parseKey } from "../keys-routing/keys.ts";
import { columnsOf, type EntryPatch, type StoredSession } from "./entries.ts";

/** Selects sessions for a list. */
export interface ListFilter {
  readonly agentId?: string | undefined;
  readonly label?: string | undefined;
  readonly spawnedBy?: string | undefined;
  readonly sessionId?: string | undefined;
  /** epoch ms; older ones are left out */
  readonly updatedSince?: number | undefined;
  /** Default: archived ones, too. */
  readonly archived?: boolean | undefined;
  /** Default false. */
  readonly includeGlobal?: boolean | undefined;
  /** Default false. */
  readonly includeUnknown?: boolean | undefined;
}

/** A page of a list begins after this session. */
export interface Cursor {
  readonly updatedAt: number;
  readonly key: string;
}

/** Columns of a session for lists, without the large snapshots. A damaged entry is passed on unchanged. */
export function listedColumns({ isJson, jsonWithout }: Dialect): string {
  return `key, session_id, updated_at, label, case when ${isJson("entry")}
  then ${jsonWithout("entry", "skillsSnapshot", "systemPromptReport", "acp")} else entry end as entry`;
}

/** Must equal the expression of the index `sessions_spawned_by`, or the index is not used. */
export function spawnedBy({ isJson, jsonText }: Dialect): string {
  return `case when ${isJson("entry")} then ${jsonText("entry", "spawnedBy")} end`;
}

/** Time at which a session was archived; NULL otherwise, and for a value that is no time. Must equal the expression of the index `sessions_archived`. */
export function archivedAt({ name, isJson, jsonText }: Dialect): string {
  const at = jsonText("entry", "archivedAt");
  return name === "sqlite"
    ? `case when ${isJson("entry")} then case typeof(${at}) when 'integer' then ${at} end end`
    : `case when ${isJson("entry")} and ${at} ~ '^[0-9]{1,15}$' then cast(${at} as bigint) end`;
}

/** Condition: the session is archived, as `isArchived`. The first part makes the planner read the index. */
function isArchived(dialect: Dialect): string {
  return `${archivedAt(dialect)} > 0 and ${archivedAt(dialect)} >= updated_at`;
}

/** Creates a missing session; returns a row when it did. */
export function insertIfMissing(key: string, sessionId: string, now: number): Statement {
  return insert({ key, entry: { sessionId, updatedAt: now } });
}

export function insert({ key, entry }: StoredSession): Statement {
  const { label, json } = columnsOf(entry);
  const agentId = parseKey(key)?.agentId ?? "";
  return {
    sql: `insert into sessions (key, agent_id, session_id, updated_at, label, listed, entry) values (?, ?, ?, ?, ?, ?, ?)
      on conflict (key) do nothing returning key`,
    params: [key, agentId, entry.sessionId, entry.updatedAt, label, isCronRun(key) ? 0 : 1, json],
  };
}

const MERGE = sqlFor(({ isJson, jsonMerge }) => {
  const entry = `case when ${isJson("entry")} then entry else '{}' end`;
  return `update sessions set updated_at = ?, entry = ${jsonMerge(jsonMerge(entry, "?"), "?")},
      label = case when ? = 1 then ? else label end
    where key = ? and session_id = coalesce(?, session_id) returning *`;
});

/** Merges into the entry; returns no row for an unknown key, or when the session id differs from the patch's. */
export function merge(key: string, patch: EntryPatch, now: number): Statement {
  const { drop, merge, label, updatedAt = now, sessionId = null } = patch;
  return {
    sql: MERGE,
    params: [updatedAt, drop, merge, label ? 1 : 0, label?.value ?? null, key, sessionId],
  };
}

/**
 * Replaces exactly `old` with `next`; any other stored entry is a conflict.
 * @param unused a use since `old` was read is a conflict, too
 */
export function replace(
  old: StoredSession & { readonly json: string },
  next: StoredSession,
  unused: boolean,
): Statement {
  const { label, json } = columnsOf(next.entry);
  return {
    sql: `update sessions set session_id = ?, updated_at = ?, label = ?, entry = ?
      where key = ? and session_id = ? and entry = ? and label is not distinct from ?
        and updated_at = coalesce(?, updated_at)`,
    params: [
      next.entry.sessionId,
      next.entry.updatedAt,
      label,
      json,
      old.key,
      old.entry.sessionId,
      old.json,
      old.entry.label ?? null,
      unused ? old.entry.updatedAt : null,
    ],
    expectChanges: 1,
  };
}

/** A conflict when another session has the label. */
export function labelIsFree(label: string, key: string): Statement {
  return {
    sql: "update sessions set label = label where label = ? and key <> ?",
    params: [label, key],
    expectChanges: 0,
  };
}

const TOUCH = sqlFor(
  ({ greatest }) => `update sessions set updated_at = ${greatest("updated_at", "?")} where key = ? returning *`,
);

/** Sets the time of last use. A clock that was set back does not lower it. */
export function touch(key: string, now: number): Statement {
  return { sql: TOUCH, params: [now, key] };
}

/** Appends to the session's current transcript. */
export function appendMessage(key: string, id: string, message: Message, now: number): Statement {
  return {
    sql: `insert into transcript (session_id, seq, id, role, created_at, body)
      select s.session_id, coalesce((select max(t.seq) from transcript t where t.session_id = s.session_id), 0) + 1, ?, ?, ?, ?
      from sessions s where s.key = ?`,
    params: [id, message.role, now, JSON.stringify(message), key],
    expectChanges: 1,
  };
}

/**
 * Removes messages. Their usage moves to a separate part of the transcript, which usage reports include.
 * @param unusedSince epoch ms; becomes the time of last use, unless a message is newer
 */
export function withdraw(
  key: string,
  ids: readonly string[],
  unusedSince: number | undefined,
  now: number,
): readonly Statement[] {
  const session = "(select session_id from sessions where key = ?)";
  const part = `(select session_id || '${WITHDRAWN}' from sessions where key = ?)`;
  const named = `id in (${ids.map(() => "?").join(", ")})`;
  const moved: Statement = {
    sql: `update message_facts set session_id = ${part},
        seq = seq + (select coalesce(max(m.seq), 0) from message_facts m where m.session_id = ${part})
      where session_id = ${session} and seq in (select seq from transcript where session_id = ${session} and ${named})`,
    params: [key, key, key, key, ...ids],
  };
  const listed: Statement = {
    sql: `insert into archives (session_id, key, reason, archived_at, part_of)
      select s.session_id || '${WITHDRAWN}', s.key, 'bak', ?, s.session_id from sessions s where s.key = ?
      on conflict (session_id) do update set archived_at = excluded.archived_at`,
    params: [now, key],
  };
  const gone: Statement = {
    sql: `delete from transcript where session_id = ${session} and ${named}`,
    params: [key, ...ids],
  };
  if (unusedSince === undefined) return [moved, listed, gone];
  const unused: Statement = {
    sql: `update sessions set updated_at = ? where key = ? and not exists
      (select 1 from transcript t where t.session_id = sessions.session_id and t.created_at > ?)`,
    params: [unusedSince, key, unusedSince],
  };
  return [moved, listed, gone, unused];
}

/** Suffix of the session id that keeps the usage of withdrawn messages. */
const WITHDRAWN = ".withdrawn";

/** Why a transcript is retired; `kept`: its session was deleted without it. */
export type ArchiveReason = "reset" | "deleted" | "kept";

/** Records the session's transcript as retired, unless it is empty or another session shows it, too. */
export function archive(key: string, reason: ArchiveReason, now: number): Statement {
  return {
    sql: `insert into archives (session_id, key, reason, archived_at)
      select s.session_id, s.key, ?, ? from sessions s
      where s.key = ? and exists (select 1 from transcript t where t.session_id = s.session_id)
        and not exists (select 1 from sessions o where o.session_id = s.session_id and o.key <> s.key)
      on conflict (session_id) do update set key = excluded.key, reason = excluded.reason, archived_at = excluded.archived_at
      returning session_id`,
    params: [reason, now, key],
  };
}

/** A conflict when a retired transcript has the session id. */
export function isNotRetired(sessionId: string): Statement {
  return { sql: "update archives set key = key where session_id = ?", params: [sessionId], expectChanges: 0 };
}

/** Conditions of `remove`. */
export interface RemoveIf {
  /** epoch ms; only if the session was last used at exactly this time */
  readonly unusedSince?: number | undefined;
  /** Only if the session has this id. */
  readonly sessionId?: string | undefined;
}

/** A conflict when a condition is not met. */
export function remove(key: string, { unusedSince, sessionId }: RemoveIf = {}): Statement {
  const conditions = [
    ...(unusedSince === undefined ? [] : [" and updated_at = ?"]),
    ...(sessionId === undefined ? [] : [" and session_id = ?"]),
  ];
  const values = [unusedSince, sessionId].filter((value) => value !== undefined);
  return {
    sql: `delete from sessions where key = ?${conditions.join("")} returning *`,
    params: [key, ...values],
    ...(values.length > 0 && { expectChanges: 1 }),
  };
}

/** Renames `agent:<id>:main` sessions to the configured main key where that one is free. */
export function adoptMainKey(mainKey: string): Statement {
  return {
    sql: `update sessions set key = 'agent:' || agent_id || ':' || ?
      where key = 'agent:' || agent_id || ':main'
        and not exists (select 1 from sessions o where o.key = 'agent:' || sessions.agent_id || ':' || ?)`,
    params: [mainKey, mainKey],
  };
}

/** One page of a list, newest first. */
export function page(
  filter: ListFilter,
  after: Cursor | undefined,
  limit: number,
): Required<Omit<Statement, "expectChanges">> {
  const { sql, params } = conditions(filter);
  if (after) {
    sql.push(() => "(updated_at, key) < (?, ?)");
    params.push(after.updatedAt, after.key);
  }
  return {
    sql: sqlFor((dialect) => {
      const all = sql.map((write) => write(dialect)).join(" and ");
      return `select ${listedColumns(dialect)} from sessions where ${all} order by updated_at desc, key desc limit ?`;
    }),
    params: [...params, limit],
  };
}

/**
 * A filter that matches few sessions must read its own index. SQLite's planner prefers the index in the order of the
 * list, which reads every session; so `listed` and `agent_id` are written as expressions without an index.
 */
function conditions(filter: ListFilter): { sql: ((dialect: Dialect) => string)[]; params: SqlValue[] } {
  const isNarrow =
    filter.archived || [filter.label, filter.sessionId, filter.spawnedBy].some((value) => value !== undefined);
  const asked: readonly (readonly [sql: string | ((dialect: Dialect) => string), value: SqlValue | undefined])[] = [
    [isNarrow ? "agent_id || '' = ?" : "agent_id = ?", filter.agentId],
    ["label = ?", filter.label],
    ["session_id = ?", filter.sessionId],
    [(dialect) => `${spawnedBy(dialect)} = ?`, filter.spawnedBy],
    ["updated_at >= ?", filter.updatedSince],
    ["key <> ?", filter.includeGlobal ? undefined : "global"],
    ["key <> ?", filter.includeUnknown ? undefined : "unknown"],
  ];
  const sql: ((dialect: Dialect) => string)[] = [() => (isNarrow ? "listed + 0 = 1" : "listed = 1")];
  if (filter.archived) sql.push(isArchived);
  // The few archived keys are read once, from their own index: no entry of the other sessions is parsed.
  if (filter.archived === false)
    sql.push((dialect) => `key not in (select key from sessions where ${isArchived(dialect)})`);
  const params: SqlValue[] = [];
  for (const [condition, value] of asked) {
    if (value === undefined) continue;
    sql.push(typeof condition === "string" ? () => condition : condition);
    params.push(value);
  }
  return { sql, params };
}
