/** Tables of the session store. Steps are append-only: a changed step is refused at start. */

/** Owner under which the steps are recorded. */
export const OWNER = "sessions";

export const STEPS: readonly string[] = [
  // agent_id is '' for the keys `global` and `unknown`; listed is 0 for runs of scheduled jobs.
  `create table sessions (
    key text not null primary key,
    agent_id text not null,
    session_id text not null,
    updated_at bigint not null,
    label text,
    listed integer not null,
    entry text not null
  )`,
  "create index sessions_newest on sessions (listed, updated_at, key)",
  "create index sessions_of_agent on sessions (agent_id, listed, updated_at, key)",
  "create index sessions_label on sessions (label) where label is not null",
  "create index sessions_session_id on sessions (session_id)",
  // role precedes body, so that finding the first user message reads no long bodies.
  `create table transcript (
    session_id text not null,
    seq bigint not null,
    id text not null,
    role text not null,
    created_at bigint not null,
    body text not null,
    primary key (session_id, seq)
  )`,
  // Retired transcripts: no session shows them. Their messages stay in transcript.
  `create table archives (
    session_id text not null primary key,
    key text not null,
    reason text not null,
    archived_at bigint not null
  )`,
  "create index archives_key on archives (key, archived_at)",
  // An unreadable entry must not break a list: the query has the same guarded expression.
  `create index sessions_spawned_by on sessions (case when json_valid(entry) then entry ->> '$.spawnedBy' end, updated_at)`,
  "create index transcript_id on transcript (session_id, id)",
  // summary replaces everything before first_kept_seq; the newest row counts.
  `create table compactions (
    session_id text not null,
    seq bigint not null,
    first_kept_seq bigint not null,
    tokens_before bigint not null,
    created_at bigint not null,
    summary text not null,
    primary key (session_id, seq)
  )`,
  // Messages cut off a transcript have their own session id; part_of is the id they had before.
  "alter table archives add column part_of text",
  "create index archives_part on archives (part_of) where part_of is not null",
  "create index archives_age on archives (archived_at, session_id)",
  // Records transcripts that an earlier version kept without a record, so that retention finds them.
  `insert into archives (session_id, key, reason, archived_at)
    select t.session_id, 'agent:main:' || t.session_id, 'kept', max(t.created_at) from transcript t
    where not exists (select 1 from sessions s where s.session_id = t.session_id)
      and not exists (select 1 from archives a where a.session_id = t.session_id)
    group by t.session_id`,
  `create table message_facts (
    session_id text not null,
    seq bigint not null,
    at bigint not null,
    role text not null,
    provider text,
    model text,
    has_usage integer not null,
    input bigint not null,
    output bigint not null,
    cache_read bigint not null,
    cache_write bigint not null,
    total_tokens bigint not null,
    cost double precision,
    cost_input double precision not null,
    cost_output double precision not null,
    cost_cache_read double precision not null,
    cost_cache_write double precision not null,
    tools text,
    is_error integer not null,
    latency_ms bigint,
    bytes bigint not null,
    primary key (session_id, seq)
  ) without rowid`,
  `insert or ignore into message_facts ${factsOf("r")} from transcript r where json_valid(r.body)`,
  // A trigger, so that rows written by the previous version, which does not know this table, count too.
  `create trigger transcript_facts after insert on transcript when json_valid(new.body) begin
    insert or ignore into message_facts ${factsOf("new")};
  end`,
  // JSON of an Origin: the one with the least authority among the summarized messages; null: the owner's.
  "alter table compactions add column origin text",
];

/**
 * The usage of one message, so that reports read no long bodies. The body is valid JSON; a value
 * of an unexpected type counts as absent.
 */
function factsOf(row: string): string {
  const orNull = (path: string) =>
    `case when json_type(${row}.body, '$.${path}') in ('integer', 'real') then ${row}.body ->> '$.${path}' end`;
  const orZero = (path: string) => `coalesce(${orNull(path)}, 0)`;
  const kinds = ["input", "output", "cacheRead", "cacheWrite"];
  return `select ${row}.session_id, ${row}.seq, ${timestampOf(row)}, ${row}.role,
    ${row}.body ->> '$.provider', ${row}.body ->> '$.model',
    coalesce(json_type(${row}.body, '$.usage') = 'object', 0),
    ${kinds.map((kind) => orZero(`usage.${kind}`)).join(",\n    ")},
    coalesce(${orNull("usage.totalTokens")}, ${kinds.map((kind) => orZero(`usage.${kind}`)).join(" + ")}),
    ${orNull("usage.cost.total")},
    ${kinds.map((kind) => orZero(`usage.cost.${kind}`)).join(",\n    ")},
    (select nullif(json_group_array(b.value ->> '$.name'), '[]') from json_each(${row}.body, '$.content') b
      where case b.type when 'object' then b.value ->> '$.type' end = 'toolCall'),
    coalesce(${row}.body ->> '$.stopReason' = 'error', 0) or coalesce(${row}.body ->> '$.isError' = 1, 0),
    case ${row}.role when 'assistant' then ${timestampOf(row)} - (select ${timestampOf("p")} from transcript p
      where p.session_id = ${row}.session_id and p.seq = ${row}.seq - 1 and p.role = 'user') end,
    octet_length(${row}.body)`;
}

/** The timestamp of a message, else the time it was stored. */
function timestampOf(row: string): string {
  return `case json_type(case when json_valid(${row}.body) then ${row}.body else '{}' end, '$.timestamp')
    when 'integer' then ${row}.body ->> '$.timestamp' else ${row}.created_at end`;
}
