/**
 * Runs appended transactions, each once, in the order in which they were written; inside the database thread. The row of `svc_appended` counts those
 * that ran, and changes in the same commit. Only one process at a time appends to a database, and runs what was appended.
 */
import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import type { OwnStatement } from "@svc/kit/sql";
import { closeSync, existsSync, openSync, readSync, rmSync } from "node:fs";
import { appendFile, appendFiles, fromLine, lockFile } from "./append-file.ts";
import { Refused, resultCode, RETRY_AFTER_MS } from "./failures.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { Position } from "./messages.ts";

/** Maximum transactions of one commit, and maximum milliseconds of one step: reads wait meanwhile. */
const MAX_GROUP = 256;
const MAX_STEP_MS = 20;
const CHUNK_BYTES = 262_144;
const NEWLINE = 0x0a;
/** https://www.sqlite.org/rescode.html#busy */
const BUSY = 5;

export interface Replay {
  /** Makes this process the one that appends. @returns number of its next file; `undefined`: another process appends */
  own(): number | undefined;
  /** Tries to become the one that appends. @returns false: another process is. A disk that cannot be written does not say so */
  isAlone(): boolean;
  /**
   * Runs some transactions. @returns whether there are more before `until`
   * @throws Refused the disk cannot be written, or another process appends: nothing is lost, call it again later
   */
  step(until: Position): boolean;
  /** Deletes the last file if all of it ran, and lets another process append. */
  close(): void;
}

export interface ReplayOptions {
  readonly database: string;
  readonly writer: DatabaseSyncInstance;
  readonly group: GroupCommit;
  /** Called for a transaction that can never run. */
  readonly skipped: (reason: string) => void;
}

/** The file that is read. */
interface Cursor {
  readonly file: number;
  /** Complete lines read so far. bytes */
  bytes: number;
  /** Transactions that ran. */
  count: number;
  readonly texts: string[];
  isDamaged: boolean;
  /** Read, but not yet run. */
  queue: OwnStatement[][];
}

export function createReplay(options: ReplayOptions): Replay {
  let owned: { readonly files: Files; release(): void } | undefined;
  let isHeld = false;
  const own = () => {
    if (owned) return owned;
    const lock = takeLock(options.database);
    isHeld = lock === "held";
    if (typeof lock === "function") owned = { files: openFiles(options), release: lock };
    return owned;
  };
  return {
    own: () => own()?.files.next,
    isAlone: () => (own(), !isHeld),
    step(until) {
      const { files } = own() ?? refuseShared();
      return files.step(until);
    },
    close() {
      owned?.files.close();
      owned?.release();
      owned = undefined;
    },
  };
}

/**
 * @returns a function that releases the lock, as the system does when the process ends; `held`: another process holds it; `undefined`: the disk
 * cannot be written
 */
function takeLock(database: string): (() => void) | "held" | undefined {
  const path = lockFile(database);
  let lock: DatabaseSyncInstance | undefined;
  try {
    if (!existsSync(path)) closeSync(openSync(path, "a", 0o600)); // closing an existing one would release the lock
    lock = new DatabaseSync(path, { timeout: 0 });
    lock.exec("BEGIN EXCLUSIVE");
    return () => lock?.close();
  } catch (thrown) {
    lock?.close();
    return (resultCode(thrown) & 0xff) === BUSY ? "held" : undefined;
  }
}

function refuseShared(): never {
  throw new Refused({
    code: "UNAVAILABLE",
    message: "another process appends to the database",
    retryAfterMs: RETRY_AFTER_MS,
  });
}

interface Files extends Pick<Replay, "step" | "close"> {
  /** Number for a file that does not exist yet. */
  readonly next: number;
}

function openFiles({ database, writer, group, skipped }: ReplayOptions): Files {
  const ran = readRan(writer);
  const found = appendFiles(database);
  const next = Math.max(0, ran.file, ...found) + 1;
  let hasTable = ran.file > 0;
  let cursor: Cursor | undefined;

  /** Goes to the oldest file with something to run. @returns whether there is one before or at `last` */
  function advance(last: number): boolean {
    const files = appendFiles(database);
    const following = files.find((file) => (cursor ? file > cursor.file : file >= ran.file) && file <= last);
    for (const file of files) if (following === undefined ? file < last : file < following) remove(file);
    if (following === undefined) return false;
    cursor = { file: following, bytes: 0, count: 0, texts: [], isDamaged: false, queue: [] };
    return true;
  }

  const remove = (file: number) => rmSync(appendFile(database, file), { force: true });

  /** Reads further lines, not beyond `most` bytes. @returns whether there were any */
  function read(at: Cursor, most: number): boolean {
    for (let full = CHUNK_BYTES; ; full *= 2) {
      const size = Math.min(full, most);
      const chunk = readChunk(appendFile(database, at.file), at.bytes, size);
      const end = chunk.lastIndexOf(NEWLINE) + 1;
      if (end === 0 && chunk.length === full) continue; // a long line
      const lines = chunk.toString("utf8", 0, Math.max(0, end - 1)).split("\n");
      for (const line of end === 0 ? [] : lines) {
        const transactions = fromLine(line, at.texts);
        if (!transactions) {
          if (!at.isDamaged) skipped(`byte ${at.bytes} of ${appendFile(database, at.file)} is damaged`);
          at.isDamaged = true;
          return at.queue.length > 0; // what follows was not confirmed to anyone, unless the disk damaged it later
        }
        at.bytes += Buffer.byteLength(line) + 1;
        const known = at.file === ran.file ? Math.max(0, ran.count - at.count - at.queue.length) : 0;
        at.queue.push(...transactions.slice(known));
        at.count += Math.min(known, transactions.length);
      }
      return end > 0;
    }
  }

  function run(at: Cursor): void {
    if (!hasTable) createTable(writer);
    hasTable = true;
    const began = performance.now();
    const some = at.queue.slice(0, MAX_GROUP).map((statements, index) => [...statements, mark(at, index + 1)]);
    const outcomes = group.run(some, () => performance.now() - began < MAX_STEP_MS);
    for (const outcome of outcomes) {
      if ("failure" in outcome) {
        if (outcome.failure.code === "UNAVAILABLE") throw new Refused(outcome.failure);
        skipped(outcome.failure.cause ?? outcome.failure.message);
      }
      at.queue.shift();
      at.count += 1;
    }
  }

  return {
    next,
    step(until) {
      while (!cursor || cursor.queue.length === 0) {
        if (cursor && read(cursor, bytesLeft(cursor, until))) continue;
        if (cursor && cursor.file >= until.file) return false;
        if (!advance(until.file)) return false;
      }
      run(cursor);
      return cursor.queue.length > 0 || cursor.file < until.file || bytesLeft(cursor, until) > 0;
    },
    close() {
      if (cursor && cursor.queue.length === 0 && !read(cursor, Number.POSITIVE_INFINITY)) remove(cursor.file);
    },
  };
}

function bytesLeft({ file, bytes }: Cursor, until: Position): number {
  return file < until.file ? Number.POSITIVE_INFINITY : file === until.file ? Math.max(0, until.bytes - bytes) : 0;
}

function readRan(writer: DatabaseSyncInstance): { file: number; count: number } {
  const { tables } = writer
    .prepare("SELECT count(*) AS tables FROM sqlite_schema WHERE name = 'svc_appended'")
    .get() as { tables: number };
  const none = { file: 0, count: 0 };
  if (tables === 0) return none;
  return (writer.prepare("SELECT file, count FROM svc_appended").get() as typeof none | undefined) ?? none;
}

function createTable(writer: DatabaseSyncInstance): void {
  writer.exec(`CREATE TABLE IF NOT EXISTS svc_appended (id INTEGER PRIMARY KEY CHECK (id = 1), file BIGINT NOT NULL, count BIGINT NOT NULL);
    INSERT INTO svc_appended VALUES (1, 0, 0) ON CONFLICT (id) DO NOTHING`);
}

function mark({ file, count }: Cursor, further: number): OwnStatement {
  return { sql: "UPDATE svc_appended SET file = ?, count = ?", params: [file, count + further] };
}

function readChunk(path: string, from: number, size: number): Buffer {
  const descriptor = openSync(path, "r");
  try {
    const chunk = Buffer.allocUnsafe(size);
    return chunk.subarray(0, readSync(descriptor, chunk, 0, size, from));
  } finally {
    closeSync(descriptor);
  }
}
