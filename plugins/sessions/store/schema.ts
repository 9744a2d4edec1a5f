/** Tables of the session store. Steps are only ever appended: a changed one is refused at start. */

/** Name the steps are recorded under. */
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
  // role stands before body: finding the first user message then reads no long bodies.
  `create table transcript (
    session_id text not null,
    seq bigint not null,
    id text not null,
    role text not null,
    created_at bigint not null,
    body text not null,
    primary key (session_id, seq)
  )`,
  // Transcripts that no session shows any more. Their messages stay in transcript.
  `create table archives (
    session_id text not null primary key,
    key text not null,
    reason text not null,
    archived_at bigint not null
  )`,
  "create index archives_key on archives (key, archived_at)",
  // Entries that do not parse must not stop a list: the same guarded expression stands in the query.
  `create index sessions_spawned_by on sessions (case when json_valid(entry) then entry ->> '$.spawnedBy' end, updated_at)`,
  "create index transcript_id on transcript (session_id, id)",
  // Everything before first_kept_seq is summed up by summary; the newest one counts.
  `create table compactions (
    session_id text not null,
    seq bigint not null,
    first_kept_seq bigint not null,
    tokens_before bigint not null,
    created_at bigint not null,
    summary text not null,
    primary key (session_id, seq)
  )`,
  // Messages cut off a transcript live on under a session id of their own; part_of is the one they were cut from.
  "alter table archives add column part_of text",
  "create index archives_part on archives (part_of) where part_of is not null",
  "create index archives_age on archives (archived_at, session_id)",
  // Transcripts kept by an earlier version without a record, so that retention finds them.
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
  // A trigger, so that rows of the previous version, which knows nothing of this table, are counted too.
  `create trigger transcript_facts after insert on transcript when json_valid(new.body) begin
    insert or ignore into message_facts ${factsOf("new")};
  end`,
];

/**
 * What usage reports need of one message, so that no report has to read long bodies. The body is valid JSON; a value
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

/** When a message was said, else when it was stored. */
function timestampOf(row: string): string {
  return `case json_type(case when json_valid(${row}.body) then ${row}.body else '{}' end, '$.timestamp')
    when 'integer' then ${row}.body ->> '$.timestamp' else ${row}.created_at end`;
}
