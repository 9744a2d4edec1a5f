/** Synchronous work on one SQLite file; runs inside the database thread. */
import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { narrowIntegers } from "@svc/kit/sql";
import type { Row, SqlValue } from "@svc/sdk/storage";
import { markData, markOf, prepareFile } from "./database-file.ts";
import { failureOf, Refused, resultCode } from "./failures.ts";
import { groupCommit, type GroupCommit } from "./group-commit.ts";
import type { DatabaseOptions, MigrateWork, ReadWork, Space, SpaceWork, Value } from "./messages.ts";
import { migrate } from "./migrations.ts";
import { bindings, type Prepared, preparedStatements } from "./prepared.ts";
import { createReplay, type Replay } from "./replay.ts";

export interface Database {
  /** Sees committed data only. @throws any error; `failureOf` converts it for the caller */
  read(work: ReadWork): Value;
  /** @throws Refused */
  migrate(work: MigrateWork): void;
  /** @throws any error; `failureOf` converts it for the caller */
  space(work: SpaceWork): Space;
  readonly group: GroupCommit;
  readonly replay: Replay;
  /** Checkpoints the log into the file and closes the file. */
  close(): void;
}

/** @throws Error naming the file and the next step. */
export function openDatabase({ file, busyTimeoutMs }: DatabaseOptions, skipped: (reason: string) => void): Database {
  const writer = openWriter(file, busyTimeoutMs);
  const reader = new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs, defensive: true });
  reader.exec("PRAGMA temp_store = MEMORY"); // sorting still works when the disk is full
  const writes = preparedStatements(writer);
  const reads = preparedStatements(reader);
  const group = groupCommit(writer, writes);
  const replay = createReplay({ database: file, writer, group, skipped });

  return {
    read({ kind, sql, params }) {
      try {
        return readRows(reads.get(sql), kind, params);
      } catch (thrown) {
        throw new Refused(readFailure(thrown, sql));
      }
    },
    migrate({ owner, steps, at }) {
      migrate(writer, owner, steps, at);
      markData(file);
      writes.clear(); // compiled against the old tables
      reads.clear();
    },
    space({ action }) {
      if (action !== "read") giveBack(writer, action);
      return spaceOf(writer);
    },
    group,
    replay,
    close() {
      replay.close();
      reader.close();
      try {
        writer.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
        // the disk is full or another process reads: nothing is lost, the next start reads the log
      }
      writer.close();
    },
  };
}

function openWriter(file: string, busyTimeoutMs: number): DatabaseSyncInstance {
  let writer: DatabaseSyncInstance | undefined;
  try {
    prepareFile(file);
    writer = new DatabaseSync(file, { timeout: busyTimeoutMs, defensive: true, enableForeignKeyConstraints: true });
    writer.exec("PRAGMA auto_vacuum = INCREMENTAL"); // applies to a new file only; an older file needs `vacuum`
    const { journal_mode: mode } = writer.prepare("PRAGMA journal_mode = WAL").get();
    if (mode !== "wal") throw new Error(`${file} cannot be used on this file system; move it to a local disk`);
    // fullfsync: on macOS a plain fsync does not reach the disk. The size limit shrinks a long log again.
    writer.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON");
    writer.exec("PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864");
    const { tables } = writer.prepare("SELECT count(*) AS tables FROM sqlite_schema").get() as { tables: number };
    if (tables > 0) markData(file);
    return writer;
  } catch (thrown) {
    writer?.close();
    throw describedOpenError(thrown, file);
  }
}

function describedOpenError(thrown: unknown, file: string): Error {
  const said = thrown instanceof Error ? thrown.message : String(thrown);
  if (said.includes(file)) return new Error(said, { cause: thrown }); // the message already names the file
  const damaged = [11, 26].includes(resultCode(thrown) & 0xff);
  const advice = damaged
    ? `the file is damaged or not an SQLite database; restore a backup, or move it and ${markOf(file)} away to start empty`
    : "check that the directory exists, is writable and has space, and that no other program locks the file";
  return new Error(`cannot open the database ${file}: ${said}; ${advice}`, { cause: thrown });
}

/** Choice: pages that one `shrink` releases: about 2 MiB, a few milliseconds. */
const SLICE = 500;

function giveBack(writer: DatabaseSyncInstance, action: "shrink" | "vacuum"): void {
  if (action === "shrink") return writer.exec(`PRAGMA incremental_vacuum(${SLICE})`);
  writer.exec("PRAGMA temp_store = FILE"); // the copy may be larger than memory
  try {
    writer.exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    writer.exec("PRAGMA temp_store = MEMORY");
  }
}

function spaceOf(writer: DatabaseSyncInstance): Space {
  const number = (name: string) => Number(Object.values(writer.prepare(`PRAGMA ${name}`).get() as object)[0]);
  const page = number("page_size");
  return {
    bytes: number("page_count") * page,
    freeBytes: number("freelist_count") * page,
    givesBack: number("auto_vacuum") !== 0,
  };
}

function readRows(prepared: Prepared, kind: ReadWork["kind"], params: readonly SqlValue[]): Value {
  const values = bindings(prepared, params);
  const run = (): Row[] | Row | undefined =>
    kind === "all" ? prepared.statement.all(...values) : prepared.statement.get(...values);
  if (!prepared.bigints) {
    try {
      return run();
    } catch {
      prepared.bigints = true; // most likely an integer above 2^53; any other error recurs below
      prepared.statement.setReadBigInts(true);
    }
  }
  const found = run();
  if (found === undefined) return undefined;
  return Array.isArray(found) ? found.map(narrowIntegers) : narrowIntegers(found);
}

/** A write through a read method is a mistake of the caller, not a read-only disk. */
function readFailure(thrown: unknown, sql: string) {
  if ((resultCode(thrown) & 0xff) !== 8) return failureOf(thrown, sql);
  return failureOf(new Error("all and get only read; use transaction"), sql);
}
