/** SQL that reads and cuts transcripts, as values. Pure. A body that is not JSON never fails a whole read. */
import type { Sessions } from "@svc/sdk/sessions";
import { type Dialect, sqlFor, type Statement } from "@svc/sdk/storage";

const SESSION_ID = "(select session_id from sessions where key = ?)";

/** The last messages of a session, newest first. */
export const TRANSCRIPT_TAIL = `select session_id, seq, id, body from transcript
  where session_id = ${SESSION_ID} order by seq desc limit ?`;

/**
 * One page of a transcript, newest first; `kept` is 1 for the first message that a compaction kept, `last_seq` the number of the
 * newest message of all. Parameters: key, id of the message before which the page ends or null, limit, offset.
 */
export const PAGE = `with one as materialized (select session_id from sessions where key = ?),
  border as materialized (select t.seq from transcript t join one on t.session_id = one.session_id where t.id = ?),
  newest as materialized (select max(t.seq) as seq from transcript t join one on t.session_id = one.session_id)
  select t.session_id, t.seq, t.id, t.body, exists (
      select 1 from compactions c where c.session_id = t.session_id and c.first_kept_seq = t.seq) as kept,
      (select seq from newest) as last_seq
    from transcript t join one on t.session_id = one.session_id
    where t.seq < coalesce((select seq from border), 9007199254740991) order by t.seq desc limit ? offset ?`;

/** Number of messages of a session after one of them. Parameters: key, seq. */
export const NEWER = `select count(*) as n from transcript where session_id = ${SESSION_ID} and seq > ?`;

/** Parameters: key, id. */
export const MESSAGE = `select session_id, seq, id, body from transcript where session_id = ${SESSION_ID} and id = ?`;

/** JSON that is safe for JSON functions. */
const guarded = ({ isJson }: Dialect, json: string) => `case when ${isJson(json)} then ${json} else '{}' end`;

/** Content as a JSON array: blocks without image data, texts cut to the given number of characters. Null: no JSON. */
function excerpt({ isJson, jsonArray, jsonEach, jsonObject, jsonText }: Dialect): string {
  const own = (key: string) => jsonText("b.value", key);
  const block = jsonObject({ type: own("type"), text: `substr(${own("text")}, 1, ?)`, name: own("name") });
  const plain = jsonObject({ type: "'text'", text: "substr(b.value, 1, ?)", name: "null" });
  return `case when ${isJson("transcript.body")} then (
    select ${jsonArray(`case b.type when 'object' then ${block} else ${plain} end`)}
    from ${jsonEach("transcript.body", "b", "content")}
  ) end`;
}

/** As `TRANSCRIPT_TAIL`, with excerpts. Parameters: characters, characters, key, limit. */
export const EXCERPT_TAIL = sqlFor(
  (sql) => `select session_id, seq, role, ${excerpt(sql)} as content from transcript
  where session_id = ${SESSION_ID} order by seq desc limit ?`,
);

/** The last messages with origin, time, tokens and price. Parameters: characters, characters, session id, limit. */
export const LOG_TAIL = sqlFor(
  (sql) => `select transcript.session_id, transcript.seq, transcript.role, ${excerpt(sql)} as content,
    ${sql.jsonText(`(${guarded(sql, "transcript.body")})`, "origin")} as origin,
    coalesce(f.at, transcript.created_at) as at, f.has_usage, f.total_tokens, f.cost
  from transcript left join message_facts f on f.session_id = transcript.session_id and f.seq = transcript.seq
  where transcript.session_id = ? order by transcript.seq desc limit ?`,
);

/**
 * In this order: the time until which all messages count as the owner's (seq -2, epoch ms as the body), the summary of the newest
 * compaction (seq -1, its origin as the id), then the messages it kept, newest first. Parameters: key, limit.
 */
export const CONTEXT = sqlFor(
  ({ isJson, jsonText }) => `with one as materialized (select session_id,
    cast(coalesce(case when ${isJson("entry")} then ${jsonText("entry", "trustedAt")} end, '0') as bigint) as trusted_at
    from sessions where key = ?),
  newest as materialized (select summary, origin, first_kept_seq, created_at from compactions
    where session_id = (select session_id from one) order by seq desc limit 1)
  select '' as session_id, -2 as seq, '' as id, cast(trusted_at as text) as body from one where trusted_at > 0
  union all select '' as session_id, -1 as seq,
    case when created_at <= (select trusted_at from one) then '' else coalesce(origin, '') end as id, summary as body from newest
  union all select * from (select session_id, seq, id, body from transcript
    where session_id = (select session_id from one) and seq >= coalesce((select first_kept_seq from newest), 0)
    order by seq desc limit ?) as kept`,
);

/** Texts of a message joined. */
const texts = (sql: Dialect) => `(select string_agg(${sql.jsonText("b.value", "text")}, '')
  from ${sql.jsonEach(guarded(sql, "t.body"), "b", "content")}
  where case b.type when 'object' then ${sql.jsonText("b.value", "type")} end = 'text')`;

/** First text of the user, cut to the given number of characters, for each session id of a JSON array. */
export const FIRST_USER_TEXTS = sqlFor(
  (sql) => `select j.value as session_id, (
    select substr(${texts(sql)}, 1, ?) from transcript t
    where t.session_id = j.value and t.role = 'user' and ${sql.isJson("t.body")} order by t.seq limit 1
  ) as text from ${sql.jsonEach("?", "j")}`,
);

/** Last text of user or assistant, cut to the given number of characters, for each session id of a JSON array. */
export const LAST_TEXTS = sqlFor(
  (sql) => `select j.value as session_id, (
    select substr(${texts(sql)}, 1, ?) from transcript t
    where t.session_id = j.value and t.role in ('user', 'assistant') and trim(${texts(sql)}) <> ''
    order by t.seq desc limit 1
  ) as text from ${sql.jsonEach("?", "j")}`,
);

const COUNT_COMPACTION = sqlFor((sql) => {
  const entry = guarded(sql, "entry");
  const count = `cast(coalesce(${sql.jsonText(`(${entry})`, "compactionCount")}, '0') as bigint) + 1`;
  return `update sessions set entry = ${sql.jsonWithNumber(entry, "compactionCount", count)} where key = ?`;
});

/** Records a compaction and counts it in the entry; a conflict unless the first kept message is in the transcript. */
export function addCompaction(
  key: string,
  { summary, firstKeptId, tokensBefore, origin }: Parameters<Sessions["addCompaction"]>[1],
  now: number,
): readonly Statement[] {
  return [
    {
      sql: `insert into compactions (session_id, seq, first_kept_seq, tokens_before, created_at, summary, origin)
        select s.session_id,
          coalesce((select max(c.seq) from compactions c where c.session_id = s.session_id), 0) + 1, max(t.seq), ?, ?, ?, ?
        from sessions s join transcript t on t.session_id = s.session_id and t.id = ?
        where s.key = ? group by s.session_id`,
      params: [tokensBefore, now, summary, origin ? JSON.stringify(origin) : null, firstKeptId, key],
      expectChanges: 1,
    },
    {
      sql: COUNT_COMPACTION,
      params: [key],
    },
  ];
}

/** Removes a part of a transcript; `partId` is the new session id of its messages. */
interface Removal {
  readonly key: string;
  readonly sessionId: string;
  readonly partId: string;
}

/** A cut of a transcript. */
export interface Cut extends Removal {
  /** Last seq that is cut off. */
  readonly lastSeq: number;
}

/** A return to an earlier point of a conversation. */
export interface Rewind extends Removal {
  /** First seq that is removed. */
  readonly firstSeq: number;
}

/** Moves the messages up to `lastSeq` to a retired transcript of their own, facts included; a conflict when the session was reset. */
export function cut({ lastSeq, ...removal }: Cut, now: number): readonly Statement[] {
  return [...move(removal, "seq <= ?", lastSeq), ...retire(removal, now)];
}

/**
 * Moves the messages from `firstSeq` on to a retired transcript of their own, with the compactions that summarized any of them; a
 * conflict when the session was reset. A compaction that kept `firstSeq` first keeps what is said next.
 */
export function rewind({ firstSeq, ...removal }: Rewind, now: number): readonly Statement[] {
  const { sessionId, partId } = removal;
  return [
    ...move(removal, "seq >= ?", firstSeq),
    {
      sql: "update compactions set session_id = ? where session_id = ? and first_kept_seq > ?",
      params: [partId, sessionId, firstSeq],
    },
    {
      sql: `update compactions set first_kept_seq =
          coalesce((select max(t.seq) from transcript t where t.session_id = compactions.session_id), 0) + 1
        where session_id = ? and first_kept_seq = ?`,
      params: [sessionId, firstSeq],
    },
    ...retire(removal, now),
  ];
}

function move({ sessionId, partId }: Removal, which: string, seq: number): readonly Statement[] {
  return ["transcript", "message_facts"].map((table) => ({
    sql: `update ${table} set session_id = ? where session_id = ? and ${which}`,
    params: [partId, sessionId, seq],
  }));
}

const TOKENS = ["inputTokens", "outputTokens", "totalTokens", "totalTokensFresh"];
const FORGET_TOKENS = sqlFor(
  (sql) => `update sessions set updated_at = ${sql.greatest("updated_at", "?")},
    entry = ${sql.jsonWithout(guarded(sql, "entry"), ...TOKENS)} where key = ? and session_id = ?`,
);

/** Lists the moved messages as retired. The size of the context is unknown until the next run. */
function retire({ key, sessionId, partId }: Removal, now: number): readonly Statement[] {
  return [
    {
      sql: "insert into archives (session_id, key, reason, archived_at, part_of) values (?, ?, 'bak', ?, ?)",
      params: [partId, key, now, sessionId],
    },
    {
      sql: FORGET_TOKENS,
      params: [now, key, sessionId],
      expectChanges: 1,
    },
  ];
}
