/** State directories of OpenClaw with SQLite databases that a test fills, and what the reader makes of them. */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { ImportItem } from "@svc/kit/import";
import type { ArchiveRecord, ImportRecord, SessionRecord, TranscriptRecord } from "@svc/sdk/import";
import { openDatabases } from "../plugins/import/openclaw/database.ts";
import { latestRecords } from "../plugins/import/openclaw/latest.ts";
import { stateFiles } from "../plugins/import/openclaw/state-files.ts";
import { directory, put } from "./directory.ts";
import { createDatabase } from "./openclaw-state.ts";

interface ReadOptions {
  readonly channels?: readonly string[];
  readonly isAnyway?: boolean;
}

/** Everything that the reader gives and tells. */
export async function read(state: string, { channels = ["webchat"], isAnyway = false }: ReadOptions = {}) {
  const items: ImportItem[] = [];
  const byKind: Record<string, ImportRecord[]> = {};
  const files = stateFiles(state);
  const options = { files, channels: new Set(channels), tell: (item: ImportItem) => void items.push(item) };
  const databases = await openDatabases(files, isAnyway);
  try {
    for await (const { kind, records } of latestRecords({ ...options, databases }))
      (byKind[kind] ??= []).push(...records);
  } finally {
    await databases.close();
  }
  const of = <R extends ImportRecord>(kind: string) => (byKind[kind] ?? []) as R[];
  return {
    items,
    of,
    sessions: of<SessionRecord>("session"),
    archives: of<ArchiveRecord>("archive"),
    transcripts: of<TranscriptRecord>("transcript"),
  };
}

export const idsOf = ({ messages }: TranscriptRecord) => messages.map(({ id }) => id);
export const told = ({ kind, id, action }: ImportItem) => `${kind} ${id.slice(0, 24)} ${action}`;

export const AGENT = "agents/main/agent/openclaw-agent.sqlite";
export const GLOBAL = "state/openclaw.sqlite";

/** Tables with the columns that the reader uses; those that are not here are tables that every version may lack. */
const AGENT_TABLES = `
  CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT,
    updated_at INTEGER);
  CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, previous_session_id TEXT, reason TEXT,
    created_at INTEGER, updated_at INTEGER);
  CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB,
    PRIMARY KEY (session_id, seq));
  CREATE TABLE session_transcript_index_state (session_id TEXT PRIMARY KEY, indexed_seq INTEGER, needs_rebuild INTEGER);
  CREATE TABLE session_transcript_active_events (session_id TEXT, active_position INTEGER, event_seq INTEGER);
  CREATE TABLE session_transcript_archives (session_id TEXT, session_key TEXT, reason TEXT, encoding TEXT,
    archive_blob BLOB, archive_sha256 TEXT, archive_name TEXT, created_at INTEGER);
  CREATE TABLE session_transcript_cold_archives (session_id TEXT, archive_name TEXT, archive_sha256 TEXT,
    archive_blob BLOB);`;
const GLOBAL_TABLES = `
  CREATE TABLE cron_jobs (job_id TEXT, job_json TEXT, state_json TEXT, enabled INTEGER, payload_kind TEXT,
    agent_id TEXT, declaration_key TEXT, sort_order INTEGER, updated_at INTEGER);
  CREATE TABLE cron_run_receipts (job_id TEXT, status TEXT, started_at_ms INTEGER, finished_at_ms INTEGER,
    error_text TEXT);
  CREATE TABLE task_runs (runtime TEXT, source_id TEXT, status TEXT, ended_at INTEGER, child_session_key TEXT,
    detail_json TEXT);
  CREATE TABLE device_pairing_paired (device_id TEXT, public_key TEXT, display_name TEXT, platform TEXT,
    device_family TEXT, client_id TEXT, client_mode TEXT, role TEXT, roles_json TEXT, approved_scopes_json TEXT,
    tokens_json TEXT,
    node_surface_json TEXT, created_at_ms INTEGER, approved_at_ms INTEGER);
  CREATE TABLE exec_approvals_config (config_key TEXT, raw_json TEXT);
  CREATE TABLE channel_pairing_allow_entries (channel_key TEXT, account_id TEXT, entry TEXT);
  CREATE TABLE plugin_state_entries (plugin_id TEXT);
  CREATE TABLE plugin_blob_entries (plugin_id TEXT);
  CREATE TABLE secret_store_entries (name TEXT, value TEXT, deleted_at_ms INTEGER);
  CREATE TABLE mcp_oauth_stores (store_key TEXT, store_json TEXT);
  CREATE TABLE migration_sources (source_path TEXT, status TEXT);`;

interface Small {
  readonly agent?: string;
  readonly global?: string;
  readonly isInLog?: boolean;
  readonly files?: Readonly<Record<string, string>>;
}

/** A state directory whose databases have the tables, and these rows. */
export function small(t: TestContext, { agent = "", global = "", isInLog = false, files = {} }: Small = {}): string {
  const state = directory(t);
  for (const [name, text] of Object.entries({ "openclaw.json": "{}", ...files })) put(join(state, name), text, 0o600);
  for (const name of [AGENT, GLOBAL]) mkdirSync(dirname(join(state, name)), { recursive: true });
  createDatabase(join(state, AGENT), `PRAGMA user_version = 23; ${AGENT_TABLES} ${agent}`, isInLog);
  createDatabase(join(state, GLOBAL), `PRAGMA user_version = 18; ${GLOBAL_TABLES} ${global}`);
  return state;
}

export const sql = (value: string | number | null) =>
  typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
export const row = (table: string, values: Readonly<Record<string, string | number | null>>) =>
  `INSERT INTO ${table} (${Object.keys(values).join(", ")}) VALUES (${Object.values(values).map(sql).join(", ")});`;

export const said = (id: string, parentId: string | null, text = id) => ({
  type: "message",
  id,
  parentId,
  timestamp: "2026-11-22T20:00:00.000Z",
  message: { role: "user", content: text, timestamp: 1 },
});
export const line = (id: string, parentId: string | null) => `${JSON.stringify(said(id, parentId))}\n`;
export const session = (key: string, id: string, updatedAt = 5, entry: object = {}) =>
  row("session_nodes", {
    session_key: key,
    current_session_id: id,
    entry_json: JSON.stringify({ sessionId: id, ...entry }),
    updated_at: updatedAt,
  });
/** Events numbered from 1, after the header. */
export const events = (sessionId: string, entries: readonly object[]) =>
  [{ type: "session", id: sessionId }, ...entries]
    .map((entry, seq) =>
      row("transcript_events", { session_id: sessionId, seq, event_json: JSON.stringify(entry), event_zstd: null }),
    )
    .join("");
/** The path that the database has computed, up to the event `indexed`. */
export const path = (sessionId: string, seqs: readonly number[], indexed: number, rebuild = 0) =>
  row("session_transcript_index_state", { session_id: sessionId, indexed_seq: indexed, needs_rebuild: rebuild }) +
  seqs
    .map((seq, at) =>
      row("session_transcript_active_events", { session_id: sessionId, active_position: at, event_seq: seq }),
    )
    .join("");
/** A blob in SQL. */
export const hex = (base64: string) => `X'${Buffer.from(base64, "base64").toString("hex")}'`;
export const main = session("agent:main:main", "s1");
