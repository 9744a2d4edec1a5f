/** Records that the sources of imports still have. The state here has no values of former device tokens, for example. */
import { type ImportItem, importsOf, readReport } from "@svc/kit/import";
import type { ImportRecord } from "@svc/sdk/import";
import { openDatabases } from "./database.ts";
import { databaseRecords } from "./database-stores.ts";
import { formatOf } from "./find.ts";
import { STORES } from "./march.ts";
import { stateFiles } from "./state-files.ts";

/**
 * Records of a store of the whole gateway, those of the newest import first. A source that is gone or unreadable has none.
 * @param state directory of the state whose imports are asked
 */
export async function sourceRecords<R extends ImportRecord>(state: string, kind: string): Promise<R[]> {
  const reports = await Promise.all((await importsOf(state)).map((id) => readReport(state, id)));
  const directories = new Set(reports.toReversed().map(({ source }) => source.directory));
  const found: R[] = [];
  for (const directory of directories) found.push(...((await recordsIn(directory, kind).catch(() => [])) as R[]));
  return found;
}

async function recordsIn(directory: string, kind: string): Promise<ImportRecord[]> {
  const files = stateFiles(directory);
  const options = { files, channels: new Set<string>(), tell: (_item: ImportItem) => {} };
  const databases = (await formatOf(files)) === "database" ? await openDatabases(files, true) : undefined;
  try {
    const stores = STORES.filter((store) => store.kind === kind).map(({ records }) => records(options));
    const found: ImportRecord[] = [];
    for (const source of [...(databases ? [databaseRecords(kind, databases.state, options)] : []), ...stores])
      for await (const record of source) found.push(record);
    return found;
  } finally {
    await databases?.close();
  }
}
