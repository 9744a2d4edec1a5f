/**
 * Reads a state directory that keeps conversations and stores in SQLite, as versions from 2026.9 do, also when its
 * files are only partly moved into the databases. Facts: design/import.md §2.
 */
import { type ImportBatch, inBatches } from "@svc/kit/import";
import type { ImportRecord } from "@svc/sdk/import";
import { conversationRecords, nothingGiven } from "./conversations.ts";
import type { Database, Databases } from "./database.ts";
import { databaseConversations } from "./database-conversations.ts";
import { databaseRecords } from "./database-stores.ts";
import { leftInDatabases } from "./left-in-databases.ts";
import { marchConversations, type MarchOptions, sessionsFile, STORES } from "./march.ts";

export interface LatestOptions extends MarchOptions {
  readonly databases: Databases;
}

/**
 * All records, in the order in which they are taken. Where a file is still there, its records are joined with those of
 * the database by id: the database wins when it has recorded that it took the file, else the file.
 */
export async function* latestRecords(options: LatestOptions): AsyncGenerator<ImportBatch> {
  const { databases, tell } = options;
  const { state, agents } = databases;
  const isMoved = movedInto(state);
  for (const { id, database } of agents) {
    const files = await marchConversations(id, options);
    const stores = database ? [databaseConversations(id, database, options), files] : [files];
    const given = nothingGiven();
    for (const store of isMoved(sessionsFile(id)) ? stores : stores.toReversed())
      yield* conversationRecords(store, given, tell);
  }
  for (const { kind, file, records } of STORES) {
    const sources = [databaseRecords(kind, state, options), records(options)];
    yield* inBatches(kind, joined(isMoved(file) ? sources : sources.toReversed()));
  }
  for (const item of leftInDatabases(databases)) tell(item);
}

/** Whether the database has recorded that it took a file. The state directory may have had another place then. */
function movedInto(state: Database): (name: string) => boolean {
  const rows = [...state.rows("migration_sources", ["source_path", "status"], { tail: "WHERE status = 'completed'" })];
  const paths = rows.map((row) => `/${String(row["source_path"]).replaceAll("\\", "/")}`);
  return (name) => paths.some((path) => path.endsWith(`/${name}`));
}

/** The first of those with the same id. */
async function* joined(
  sources: readonly (Iterable<ImportRecord> | AsyncIterable<ImportRecord>)[],
): AsyncGenerator<ImportRecord> {
  const ids = new Set<string>();
  for (const source of sources)
    for await (const record of source) {
      if (ids.has(record.id)) continue;
      ids.add(record.id);
      yield record;
    }
}
