/** Tables of the session store. Steps are append-only: a changed step is refused at start. */
import { type Sql, sqlFor } from "@svc/sdk/storage";
import { archivedAt, spawnedBy } from "./statements.ts";

/** As the trigger of SQLite. */
const POSTGRES_TRIGGER = `create function sessions_sent_at(message jsonb, stored_at bigint) returns bigint language sql as $$
  select case when jsonb_typeof(message -> 'timestamp') = 'number' and (message ->> 'timestamp')::numeric % 1 = 0
    then (message ->> 'timestamp')::bigint else stored_at end $$;
create function sessions_number(message jsonb, path text[]) returns double precision language sql as $$
  select case when jsonb_typeof(message #> path) = 'number' then (message #>> path)::double precision end $$;
create function sessions_transcript_facts() returns trigger language plpgsql as $$
declare
  m jsonb;
  sent bigint;
  asked bigint;
  used double precision[];
begin
  if not svc_is_json(new.body) then return null; end if;
  m := svc_jsonb(new.body);
  sent := sessions_sent_at(m, new.created_at);
  if new.role = 'assistant' then
    select sessions_sent_at(case when svc_is_json(p.body) then svc_jsonb(p.body) else '{}' end, p.created_at) into asked
      from transcript p where p.session_id = new.session_id and p.seq = new.seq - 1 and p.role = 'user';
  end if;
  select array_agg(coalesce(sessions_number(m, array['usage', kind]), 0) order by at) into used
    from unnest(array['input', 'output', 'cacheRead', 'cacheWrite']) with ordinality as kinds (kind, at);
  insert into message_facts values (
    new.session_id, new.seq, sent, new.role, m ->> 'provider', m ->> 'model',
    coalesce((jsonb_typeof(m -> 'usage') = 'object')::int, 0), used[1], used[2], used[3], used[4],
    coalesce(sessions_number(m, '{usage,totalTokens}'), used[1] + used[2] + used[3] + used[4]),
    sessions_number(m, '{usage,cost,total}'),
    coalesce(sessions_number(m, '{usage,cost,input}'), 0), coalesce(sessions_number(m, '{usage,cost,output}'), 0),
    coalesce(sessions_number(m, '{usage,cost,cacheRead}'), 0), coalesce(sessions_number(m, '{usage,cost,cacheWrite}'), 0),
    (select jsonb_agg(b ->> 'name')::text
      from jsonb_array_elements(case jsonb_typeof(m -> 'content') when 'array' then m -> 'content' else '[]' end) b
      where b ->> 'type' = 'toolCall'),
    (coalesce(m ->> 'stopReason' = 'error', false) or coalesce(m ->> 'isError' = 'true', false))::int,
    sent - asked, octet_length(new.body)
  ) on conflict do nothing;
  return null;
end $$;
create trigger transcript_facts after insert on transcript for each row execute function sessions_transcript_facts()`;

/** Owner under which the steps are recorded. */
export const OWNER = "sessions";

export const STEPS: readonly Sql[] = [
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
  sqlFor(({ name, ...sql }) => {
    const expression = spawnedBy({ name, ...sql });
    return `create index sessions_spawned_by on sessions (${name === "sqlite" ? expression : `(${expression})`}, updated_at)`;
  }),
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
  {
    sqlite: `insert or ignore into message_facts ${factsOf("r")} from transcript r where json_valid(r.body)`,
    postgres: "select 1", // the table is new there, and so is the transcript
  },
  // A trigger, so that rows written by the previous version, which does not know this table, count too.
  {
    sqlite: `create trigger transcript_facts after insert on transcript when json_valid(new.body) begin
    insert or ignore into message_facts ${factsOf("new")};
  end`,
    postgres: POSTGRES_TRIGGER,
  },
  // JSON of an Origin: the one with the least authority among the summarized messages; null: the owner's.
  "alter table compactions add column origin text",
  sqlFor((dialect) => {
    const expression = archivedAt(dialect);
    const indexed = dialect.name === "sqlite" ? expression : `(${expression})`;
    return `create index sessions_archived on sessions (${indexed}) where ${expression} > 0`;
  }),
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
