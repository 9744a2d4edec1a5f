/**
 * Entry point of a thread that measures the tables of a database and ends. It reads all pages (500 MB take half a second from memory),
 * while the database thread serves other calls.
 */
import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import type { Space } from "@svc/kit/storage";
import { parentPort, workerData } from "node:worker_threads";

interface Page {
  readonly name: string;
  readonly pagetype: string;
  readonly ncell: number;
  readonly pgsize: number;
}

/** Size of each table including its indexes. */
function tableSpaces(database: DatabaseSyncInstance): ReadonlyMap<string, Space> {
  const all = (sql: string) => database.prepare(sql).all() as Record<string, string>[];
  const tableOf = new Map(
    all("SELECT name, tbl_name FROM sqlite_schema").map(({ name, tbl_name }) => [name, tbl_name]),
  );
  const withoutRowid = new Set(all("SELECT name FROM pragma_table_list WHERE wr = 1").map(({ name }) => name));
  const tables = all("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'");
  const spaces = new Map(tables.map(({ name = "" }) => [name, { rows: 0, bytes: 0 }]));
  for (const page of database.prepare("SELECT name, pagetype, ncell, pgsize FROM dbstat").iterate()) {
    const { name, pagetype, ncell, pgsize } = page as Page; // the selected columns
    const space = spaces.get(tableOf.get(name) ?? "");
    if (!space) continue;
    space.bytes += pgsize;
    // Interior pages contain rows only in a table without rowid.
    if (spaces.has(name) && (pagetype === "leaf" || withoutRowid.has(name))) space.rows += ncell;
  }
  return spaces;
}

const { file } = workerData as { readonly file: string }; // set by usage-thread.ts
const database = new DatabaseSync(file, { readOnly: true, timeout: 2_000, defensive: true });
try {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
  parentPort?.postMessage(tableSpaces(database));
} finally {
  database.close();
}
