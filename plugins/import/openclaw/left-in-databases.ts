/** What the databases have and no record carries, named with what helps; and the credentials in them. */
import type { ImportItem } from "@svc/kit/import";
import type { Database, Databases, Row } from "./database.ts";
import { parsed } from "./transcript.ts";
import { isRecord } from "./values.ts";

/** Notes of a database about itself, indexes, and what a database was made from. */
const ITS_OWN =
  /^(?:sqlite|migration|memory_index|(?:session_)?transcript|session_(?:key|canonical))_|_fts|^schema_meta$|^agent_databases$/;

/** Called when everything else was read. */
export function* leftInDatabases({ state, agents }: Databases): Generator<ImportItem> {
  for (const [agentId, file] of heartbeatFiles(state))
    yield {
      kind: "file",
      id: file.name,
      action: "convert",
      added: 0,
      reason: `HEARTBEAT.md of agent ${agentId} moved from its workspace into the database`,
      next: `copy ${file.name} from the directory of this report to the workspace as HEARTBEAT.md`,
    };
  yield* logins(state);
  const databases = [state, ...agents.flatMap(({ database }) => database ?? [])];
  for (const { name, missing } of databases)
    for (const id of missing)
      yield { kind: "table", id: `${name} ${id}`, action: "refuse", reason: "it is not in the database" };
  const counts = new Map<string, number>();
  for (const { table, count } of databases.flatMap((database) => database.unread(ITS_OWN)))
    if (count > 0) counts.set(table, (counts.get(table) ?? 0) + count);
  const others = [...counts].map(([table, count]) => `${table} ${count}`);
  if (others.length > 0)
    yield { kind: "table", id: "other tables", action: "drop", reason: `nothing here uses them: ${others.join(", ")}` };
}

/** HEARTBEAT.md of each agent, as a file of the report. */
export function heartbeatFiles(state: Database): Map<string, { readonly name: string; readonly text: string }> {
  const files = new Map<string, { name: string; text: string }>();
  const agentOf = new Map<unknown, string>();
  const heartbeats = { tail: "WHERE payload_kind = 'heartbeat'" };
  for (const row of state.rows("cron_jobs", ["job_id", "agent_id", "payload_kind"], heartbeats))
    agentOf.set(row["job_id"], String(row["agent_id"]));
  if (!state.has("cron_job_scratch")) return files;
  for (const row of state.rows("cron_job_scratch", ["job_id", "content"])) {
    const agentId = agentOf.get(row["job_id"]);
    if (agentId !== undefined && typeof row["content"] === "string")
      files.set(agentId, { name: `HEARTBEAT-${agentId.replaceAll(/[^\w-]/g, "_")}.md`, text: row["content"] });
  }
  return files;
}

/** Only their names are read. */
function* logins(state: Database): Generator<ImportItem> {
  const stored = ["plugin_state_entries", "plugin_blob_entries"].map((table) => state.rows(table, ["plugin_id"]));
  for (const [id, count] of counted(
    stored.flatMap((rows) => [...rows]),
    (row) => String(row["plugin_id"]),
  ))
    yield {
      kind: "login",
      id,
      action: "drop",
      reason: `${count} entries of its plugin: a login belongs to one linked device, which one program may use`,
      next: `if it is a channel: svc channels login --channel ${id}`,
    };
  for (const row of state.rows("secret_store_entries", ["name", "deleted_at_ms"], {
    tail: "WHERE deleted_at_ms IS NULL",
  }))
    yield {
      kind: "secret",
      id: String(row["name"]),
      action: "drop",
      reason: "it is in the store for secrets of OpenClaw",
      next: "put it where settings can refer to it: secrets.providers",
    };
  for (const row of state.rows("mcp_oauth_stores", ["store_key"]))
    yield {
      kind: "login",
      id: String(row["store_key"]),
      action: "drop",
      reason: "two programs that refresh one login of an MCP server end it for each other",
      next: "give the server a token: mcp.servers",
    };
}

function counted(rows: Iterable<Row>, nameOf: (row: Row) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(nameOf(row), (counts.get(nameOf(row)) ?? 0) + 1);
  return counts;
}

/**
 * Credentials of each agent for providers of models, in the form of `auth-profiles.json`: its own, and those of the
 * whole gateway. Secret: nothing may show it.
 */
export function authProfilesIn({ state, agents }: Databases): { readonly id: string; readonly authProfiles: object }[] {
  const shared = profilesIn(state, "auth_profile_stores");
  return agents.map(({ id, database }) => ({
    id,
    authProfiles: { profiles: { ...shared, ...(database ? profilesIn(database, "auth_profile_store") : {}) } },
  }));
}

function profilesIn(database: Database, table: string): Row {
  if (!database.has(table)) return {};
  const stores = [...database.rows(table, ["store_json"])].map((row) => parsed(String(row["store_json"])));
  return Object.assign({}, ...stores.map((store) => (isRecord(store) ? store["profiles"] : undefined)));
}
