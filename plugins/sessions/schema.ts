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
];
