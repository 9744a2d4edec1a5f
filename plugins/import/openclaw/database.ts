/** SQLite databases of a state directory, read in copies: opening an original, even to read, makes files beside it. */
import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { isGatewayError, lazy, messageOf } from "@svc/sdk";
import { detailsCode, refusal } from "@svc/sdk/errors";
import type { StateFiles } from "./state-files.ts";

const loadSqlite = lazy(() => import("@photostructure/sqlite"));

/** The newest schemas that the reader knows. */
const SCHEMAS = { state: 18, agent: 23 };
/** Choice: copies of a database that is written meanwhile. */
const ATTEMPTS = 3;

export type Row = Readonly<Record<string, unknown>>;

export interface RowsQuery {
  /** Columns that earlier versions do not have; `null` without them. */
  readonly optional?: readonly string[];
  /** What follows the name of the table. */
  readonly tail?: string;
  readonly params?: readonly (string | number)[];
}

export interface Database {
  /** Relative to the state directory. */
  readonly name: string;
  /**
   * Reads rows one by one. None, if the table or one of the columns is missing; `missing` names it then.
   * @throws GatewayError `IMPORT_UNREADABLE` for a damaged database
   */
  rows(table: string, columns: readonly string[], query?: RowsQuery): Generator<Row>;
  has(table: string): boolean;
  /** Tables and columns that were asked for and are not there. */
  readonly missing: ReadonlySet<string>;
  /** Tables that nobody asked for, and the number of their rows, without those with such a name. */
  unread(but: RegExp): { readonly table: string; readonly count: number }[];
}

export interface Databases {
  /** Of the whole gateway. */
  readonly state: Database;
  /** Each agent, sorted by id. `database`: absent where the agent keeps everything in files. */
  readonly agents: readonly { readonly id: string; readonly database: Database | undefined }[];
  /** Removes the copies. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Copies the databases into a private directory for temporary files and opens the copies.
 * @param isAnyway open newer schemas, too
 * @throws GatewayError `IMPORT_NEWER`, `IMPORT_UNREADABLE`; the copies are removed then
 */
export async function openDatabases(files: StateFiles, isAnyway: boolean): Promise<Databases> {
  const { DatabaseSync } = await loadSqlite();
  const directory = await mkdtemp(join(tmpdir(), "svc-import-"));
  const opened: DatabaseSyncInstance[] = [];
  const close = async () => {
    for (const connection of opened.splice(0)) connection.close();
    await rm(directory, { recursive: true, force: true });
  };

  async function openCopy(name: string, newest: number): Promise<Database | undefined> {
    const path = join(files.directory, name);
    const copy = join(directory, `${opened.length}.sqlite`);
    try {
      const copied = await copyDatabase(files, name, copy);
      if (!copied) return undefined;
      // A transaction that a crash interrupted is undone in the copy, for which SQLite has to write.
      const connection = new DatabaseSync(copy, { readOnly: !copied.hasJournal });
      opened.push(connection);
      const { user_version: version } = connection.prepare("PRAGMA user_version").get() as { user_version: number };
      if (version > newest && !isAnyway)
        throw refusal("IMPORT_NEWER", `${path} has the schema ${version}, and the reader knows ${newest}`, { path });
      return databaseOf(connection, name, path);
    } catch (error) {
      throw unreadable(error, path);
    }
  }

  try {
    const state = await openCopy(STATE, SCHEMAS.state);
    if (!state) throw unreadable(new Error("it is gone"), join(files.directory, STATE));
    const agents: { id: string; database: Database | undefined }[] = [];
    for (const id of await files.names("agents", "directory"))
      agents.push({ id, database: await openCopy(`agents/${id}/agent/openclaw-agent.sqlite`, SCHEMAS.agent) });
    return { state, agents, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const STATE = "state/openclaw.sqlite";

/** A refusal of the reader stays as it is. */
function unreadable(error: unknown, path: string): Error {
  if (isGatewayError(error) && detailsCode(error)) return error;
  const { code } = Object(error) as { readonly code?: unknown };
  const next =
    code === "ENOSPC"
      ? `free space for a copy in ${tmpdir()}, or set TMPDIR`
      : "openclaw doctor, or restore its backup";
  return refusal("IMPORT_UNREADABLE", `${path} cannot be read: ${messageOf(error)}\nNext: ${next}`, { path });
}

/**
 * Copies a database with what SQLite has not moved into it yet. The copy is of one moment: its log may grow
 * meanwhile, but the database itself must not change.
 * @returns `undefined` if there is no such database
 */
async function copyDatabase(
  files: StateFiles,
  name: string,
  to: string,
): Promise<{ readonly hasJournal: boolean } | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const copied = await files.copy(name, to);
    if (!copied) return undefined;
    const [, journal] = [await copyBeside("-wal"), await copyBeside("-journal")];
    const now = await stat(join(files.directory, name));
    if (now.mtimeMs === copied.mtimeMs && now.size === copied.size) return { hasJournal: journal };
  }
  throw new Error("a program writes to it; stop that program first");

  async function copyBeside(suffix: string): Promise<boolean> {
    await rm(`${to}${suffix}`, { force: true });
    return (await files.copy(`${name}${suffix}`, `${to}${suffix}`)) !== undefined;
  }
}

function databaseOf(connection: DatabaseSyncInstance, name: string, path: string): Database {
  const asked = new Set<string>();
  const missing = new Set<string>();
  const known = new Map<string, ReadonlySet<string>>();
  const statements = new Map<string, ReturnType<DatabaseSyncInstance["prepare"]>>();

  const rowsOf = (sql: string, ...params: (string | number)[]) => {
    let statement = statements.get(sql);
    if (!statement) statements.set(sql, (statement = connection.prepare(sql)));
    return statement.iterate(...params) as Iterable<Row>; // each row is an object with the columns as its fields
  };

  function columnsOf(table: string): ReadonlySet<string> {
    let columns = known.get(table);
    if (!columns) {
      columns = new Set([...rowsOf("SELECT name FROM pragma_table_info(?)", table)].map((row) => String(row["name"])));
      known.set(table, columns);
    }
    return columns;
  }

  return {
    name,
    missing,
    has: (table) => columnsOf(table).size > 0,
    *rows(table, columns, { optional = [], tail = "", params = [] } = {}) {
      asked.add(table);
      const here = columnsOf(table);
      const absent =
        here.size === 0 ? [table] : columns.filter((one) => !here.has(one)).map((one) => `${table}.${one}`);
      for (const one of absent) missing.add(one);
      if (absent.length > 0) return;
      const wanted = [...columns, ...optional.map((one) => (here.has(one) ? one : `NULL AS ${one}`))];
      try {
        yield* rowsOf(`SELECT ${wanted.join(", ")} FROM ${table} ${tail}`, ...params);
      } catch (error) {
        throw unreadable(error, path);
      }
    },
    unread(but) {
      // A virtual table may need an extension that is not here.
      const sql =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name";
      const tables = [...rowsOf(sql)].map((row) => String(row["name"]));
      return tables
        .filter((table) => !asked.has(table) && !but.test(table))
        .map((table) => {
          const [row] = rowsOf(`SELECT count(*) AS count FROM "${table.replaceAll('"', '""')}"`);
          return { table, count: Number(row?.["count"]) };
        });
    },
  };
}

/** SQLite's primary result code for a lock that another connection holds. */
const BUSY = 5;
/** Offset in a database of the version of its write format; 2: it has a log, and reading it makes a file beside it. */
const WRITE_VERSION = 18;

/** Whether a process holds an exclusive lock on a database. `undefined`: it cannot be checked without a change. */
export async function isLocked(path: string): Promise<boolean | undefined> {
  let connection: DatabaseSyncInstance | undefined;
  try {
    if ((await byteAt(path, WRITE_VERSION)) === 2) return undefined;
    const { DatabaseSync } = await loadSqlite();
    connection = new DatabaseSync(path, { readOnly: true, timeout: 0 });
    connection.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").all();
    return false;
  } catch (error) {
    return (Object(error) as { errcode?: unknown }).errcode === BUSY ? true : undefined;
  } finally {
    connection?.close();
  }
}

async function byteAt(path: string, position: number): Promise<number | undefined> {
  const file = await open(path, "r");
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(1), 0, 1, position);
    return bytesRead === 1 ? buffer[0] : undefined;
  } finally {
    await file.close();
  }
}
