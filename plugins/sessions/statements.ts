/**
 * SQL of the session store, as values. Pure.
 *
 * Whatever depends on the stored state is decided inside a statement, because many transactions share one
 * commit: the session a message goes to, its place, and what a merge makes of an entry.
 */
import type { Message, SqlValue, Statement } from "@svc/sdk/services";
import { columnsOf, type EntryPatch, type StoredSession } from "./entries.ts";
import { isCronRun, parseKey } from "./keys.ts";

/** Which sessions a list is about. */
export interface ListFilter {
  readonly agentId?: string | undefined;
  readonly label?: string | undefined;
  readonly spawnedBy?: string | undefined;
  readonly sessionId?: string | undefined;
  /** epoch ms; older ones are left out */
  readonly updatedSince?: number | undefined;
  /** Default false. */
  readonly includeGlobal?: boolean | undefined;
  /** Default false. */
  readonly includeUnknown?: boolean | undefined;
}

/** Where a page of a list begins: after this session. */
export interface Cursor {
  readonly updatedAt: number;
  readonly key: string;
}

/** Columns of a session for lists: without the large snapshots that no list shows. */
export const LISTED_COLUMNS =
  "key, session_id, updated_at, label, json_remove(entry, '$.skillsSnapshot', '$.systemPromptReport', '$.acp') as entry";

/** Makes the session unless it is there; answers a row when it made one. */
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

/** Merges into the entry; answers no row when the key, or the session id the patch names, is not there. */
export function merge(key: string, patch: EntryPatch, now: number): Statement {
  const { drop, merge, label, updatedAt = now, sessionId = null } = patch;
  return {
    sql: `update sessions set entry = json_patch(json_patch(entry, ?), ?), updated_at = ?,
        label = case when ? = 1 then ? else label end
      where key = ? and session_id = coalesce(?, session_id) returning *`,
    params: [drop, merge, updatedAt, label ? 1 : 0, label?.value ?? null, key, sessionId],
  };
}

/** Puts `next` in the place of exactly `old`; anything else there is a conflict. */
export function replace(old: StoredSession & { readonly json: string }, next: StoredSession): Statement {
  const { label, json } = columnsOf(next.entry);
  return {
    sql: `update sessions set session_id = ?, updated_at = ?, label = ?, entry = ?
      where key = ? and session_id = ? and entry = ? and label is not distinct from ?`,
    params: [
      next.entry.sessionId,
      next.entry.updatedAt,
      label,
      json,
      old.key,
      old.entry.sessionId,
      old.json,
      old.entry.label ?? null,
    ],
    expectChanges: 1,
  };
}

/** The session was used. A clock that was set back does not make it older. */
export function touch(key: string, now: number): Statement {
  return { sql: "update sessions set updated_at = max(updated_at, ?) where key = ? returning *", params: [now, key] };
}

/** Appends to the transcript the session has at this moment. */
export function appendMessage(key: string, id: string, message: Message, now: number): Statement {
  return {
    sql: `insert into transcript (session_id, seq, id, role, created_at, body)
      select s.session_id, coalesce((select max(t.seq) from transcript t where t.session_id = s.session_id), 0) + 1, ?, ?, ?, ?
      from sessions s where s.key = ?`,
    params: [id, message.role, now, JSON.stringify(message), key],
    expectChanges: 1,
  };
}

/** Records that the session's transcript is retired. Nothing happens when it is empty or another session shows it too. */
export function archive(key: string, reason: "reset" | "deleted", now: number): Statement {
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

export function remove(key: string): Statement {
  return { sql: "delete from sessions where key = ? returning *", params: [key] };
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
    sql.push("(updated_at, key) < (?, ?)");
    params.push(after.updatedAt, after.key);
  }
  return {
    sql: `select ${LISTED_COLUMNS} from sessions where ${sql.join(" and ")} order by updated_at desc, key desc limit ?`,
    params: [...params, limit],
  };
}

function conditions(filter: ListFilter): { sql: string[]; params: SqlValue[] } {
  const asked: readonly (readonly [sql: string, value: SqlValue | undefined])[] = [
    ["agent_id = ?", filter.agentId],
    ["label = ?", filter.label],
    ["session_id = ?", filter.sessionId],
    ["json_extract(entry, '$.spawnedBy') = ?", filter.spawnedBy],
    ["updated_at >= ?", filter.updatedSince],
    ["key <> ?", filter.includeGlobal ? undefined : "global"],
    ["key <> ?", filter.includeUnknown ? undefined : "unknown"],
  ];
  const sql = ["listed = 1"];
  const params: SqlValue[] = [];
  for (const [condition, value] of asked) {
    if (value === undefined) continue;
    sql.push(condition);
    params.push(value);
  }
  return { sql, params };
}

/** The last messages of a session, newest first. */
export const TRANSCRIPT_TAIL = `select id, body from transcript
  where session_id = (select session_id from sessions where key = ?) order by seq desc limit ?`;

/** As `TRANSCRIPT_TAIL`, without image data and with texts cut to the given number of characters. */
export const EXCERPT_TAIL = `select role, (
    select json_group_array(json_object(
      'type', b.value ->> '$.type', 'text', substr(b.value ->> '$.text', 1, ?), 'name', b.value ->> '$.name'))
    from json_each(transcript.body, '$.content') b
  ) as content
  from transcript where session_id = (select session_id from sessions where key = ?) order by seq desc limit ?`;

const TEXT = `(select substr(group_concat(b.value ->> '$.text', ''), 1, ?)
  from json_each(t.body, '$.content') b where b.value ->> '$.type' = 'text')`;

/** First text of the user, for each session id of a JSON array. */
export const FIRST_USER_TEXTS = `select j.value as session_id, (
    select ${TEXT} from transcript t where t.session_id = j.value and t.role = 'user' order by t.seq limit 1
  ) as text from json_each(?) j`;

/** Last text that somebody said, for each session id of a JSON array. */
export const LAST_TEXTS = `select j.value as session_id, (
    select ${TEXT} as said from transcript t
    where t.session_id = j.value and t.role in ('user', 'assistant') and trim(said) <> '' order by t.seq desc limit 1
  ) as text from json_each(?) j`;
