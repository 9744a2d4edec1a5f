/**
 * Appends transactions to files, which costs a fraction of a commit, and lets the database thread run them later: when little else happens, when
 * too many wait, and before a call that names one of their tables.
 */
import type { Clock, Logger } from "@svc/sdk";
import { GatewayError, messageOf } from "@svc/sdk";
import type { OwnStatement } from "@svc/kit/sql";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { performance } from "node:perf_hooks";
import { appendFile, type Entry, toEntry, toLine } from "./append-file.ts";
import { busyError, MAX_WAITING } from "./connection.ts";
import { RETRY_AFTER_MS } from "./failures.ts";
import type { Position } from "./messages.ts";

/** Choice: transactions of one write, so that their callers do not block the event loop together. */
const MAX_GROUP = 256;
/** Choice: bytes of transactions that wait to run; then appending waits. Bounds the time of a start after a crash to some seconds. */
const MAX_BEHIND = 16 * 1_048_576;
/** Choice: bytes after which the next file begins. */
const MAX_FILE = 16 * 1_048_576;
/** Whether a write includes its sync, which saves a turn of the thread pool. Elsewhere only `datasync` also empties the cache of the disk. */
const SYNCS_WRITES = process.platform === "linux";
/** Milliseconds between two looks whether the transactions can run, and after a failure. */
const LOOK_MS = 25;
const RETRY_MS = 1_000;
/** Choice: milliseconds after which another process that appends may have ended. */
const OWN_MS = 60_000;
/** Choice: share of the time for which a busy event loop works. */
const BUSY = 0.4;

export interface AppendLogOptions {
  /** Path of the database. */
  readonly database: string;
  /** Transactions of an earlier process still wait to run. */
  readonly isBehind: boolean;
  /** Makes this process the one that appends. @returns number of the first file; `undefined`: another process appends */
  readonly own: () => Promise<number | undefined>;
  /** Runs the transactions up to a position. @throws GatewayError `UNAVAILABLE` */
  readonly replay: (until: Position) => Promise<unknown>;
  readonly clock: Pick<Clock, "elapsed" | "setTimeout">;
  readonly log: Pick<Logger, "warn"> | undefined;
}

interface Waiting {
  readonly entry: Entry;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

interface OpenFile {
  readonly number: number;
  readonly handle: FileHandle;
  readonly numbers: Map<string, number>;
  bytes: number;
}

export class AppendLog {
  readonly #options: AppendLogOptions;
  readonly #waiting: Waiting[] = [];
  /** Tables that are named by transactions which may not have run. */
  readonly #tables = new Set<string>();
  readonly #tablesOf = new Map<string, readonly string[]>();
  #writing: Promise<void> | undefined;
  #file: OpenFile | undefined;
  /** Number of the next file, once this process is the one that appends. */
  #next: number | undefined;
  /** Up to where complete lines were written. */
  #end: Position = { file: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };
  #owning: { readonly at: number; readonly isOwner: Promise<boolean> } | undefined;
  /** Bytes written, and bytes that ran, over all files. */
  #written = 0;
  #ran = 0;
  #wrote = false;
  #isBehind: boolean;
  #replaying: { readonly until: number; readonly done: Promise<void> } | undefined;
  #cancelLook: (() => void) | undefined;
  #load = performance.eventLoopUtilization();
  /** A failure was logged, and has not passed. */
  #isTold = false;
  #isClosed = false;

  constructor(options: AppendLogOptions) {
    this.#options = options;
    this.#isBehind = options.isBehind;
    if (this.#isBehind) this.#lookIn(RETRY_MS);
  }

  /** Number of the file in use; `undefined`: nothing was appended. */
  get current(): number | undefined {
    return this.#next === undefined ? undefined : this.#next - 1;
  }

  /** Whether this process may append. @throws GatewayError `UNAVAILABLE` */
  get isOwner(): boolean | Promise<boolean> {
    if (this.#next !== undefined) return true;
    const now = this.#options.clock.elapsed();
    if (!this.#owning || now - this.#owning.at >= OWN_MS) this.#owning = { at: now, isOwner: this.#own() };
    return this.#owning.isOwner;
  }

  async #own(): Promise<boolean> {
    try {
      const next = await this.#options.own();
      if (next === undefined) return false;
      this.#next ??= next;
      this.#end = { file: next - 1, bytes: Number.POSITIVE_INFINITY };
      return true;
    } catch (error) {
      this.#owning = undefined;
      throw error;
    }
  }

  /** Resolves when the transaction survives a power failure. @throws GatewayError `UNAVAILABLE` */
  append(statements: readonly OwnStatement[]): Promise<void> {
    if (this.#isClosed) return Promise.reject(new GatewayError("UNAVAILABLE", "storage is not open"));
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(busyError());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry: toEntry(statements), resolve, reject });
      this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    });
  }

  /** Whether a transaction that may not have run names a table that this SQL names. */
  concerns(sql: string): boolean {
    if (this.#isBehind) return true;
    for (const table of this.#tables) if (sql.includes(table)) return true;
    return false;
  }

  /** Runs what was appended before the call. Never rejects: if the disk cannot be written, reads show the state before. */
  async run(): Promise<void> {
    if (this.#written === this.#ran && !this.#isBehind) return;
    try {
      await this.#replay();
      this.#isTold = false;
    } catch (error) {
      if (!this.#isTold)
        this.#options.log?.warn(
          { err: error },
          "stored records could not be added to their tables; retrying every second",
        );
      this.#isTold = true;
      this.#lookIn(RETRY_MS);
    }
  }

  /** Refuses further transactions, and runs the others. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writing;
    this.#cancelLook?.();
    await this.#file?.handle.close();
    await this.run();
    this.#cancelLook?.();
  }

  async #write(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // calls of one turn of the event loop share a write
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, MAX_GROUP);
      try {
        if (this.#written - this.#ran > MAX_BEHIND) await this.#replay();
        await this.#writeGroup(group.map(({ entry }) => entry));
        for (const { resolve } of group) resolve();
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
  }

  async #writeGroup(entries: readonly Entry[]): Promise<void> {
    const file = await this.#open();
    const line = Buffer.from(toLine(entries, file.numbers));
    try {
      for (let sent = 0; sent < line.length;) sent += (await file.handle.write(line, sent)).bytesWritten;
      if (!SYNCS_WRITES) await file.handle.datasync();
    } catch (error) {
      await this.#abandon(file);
      throw refusal(error);
    }
    file.bytes += line.length;
    this.#end = { file: file.number, bytes: file.bytes };
    this.#written += line.length;
    this.#wrote = true;
    for (const { sql } of entries)
      for (const text of sql) for (const table of this.#named(text)) this.#tables.add(table);
    this.#lookIn(LOOK_MS);
  }

  async #open(): Promise<OpenFile> {
    const used = this.#file;
    if (used && used.bytes < MAX_FILE) return used;
    this.#file = undefined;
    await used?.handle.close();
    const { database } = this.#options;
    const number = this.#next ?? 1;
    this.#next = number + 1;
    const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY, O_DSYNC } = constants;
    const flags = O_APPEND | O_CREAT | O_EXCL | O_WRONLY | (SYNCS_WRITES ? O_DSYNC : 0);
    let handle: FileHandle | undefined;
    try {
      handle = await open(appendFile(database, number), flags, 0o600);
      await syncDirectory(dirname(database));
    } catch (error) {
      await handle?.close();
      throw refusal(error);
    }
    return (this.#file = { number, handle, numbers: new Map(), bytes: 0 });
  }

  /** Removes what was written in part, and continues in another file. */
  async #abandon(file: OpenFile): Promise<void> {
    this.#file = undefined;
    await file.handle.truncate(file.bytes).catch(() => undefined); // an incomplete line is ignored
    await file.handle.close().catch(() => undefined);
  }

  #named(sql: string): readonly string[] {
    const known = this.#tablesOf.get(sql);
    if (known) return known;
    if (this.#tablesOf.size === 1_000) this.#tablesOf.clear();
    const named = [
      ...new Set(
        Array.from(sql.matchAll(/\b(?:into|update|from|join)\s+(?!set\b|select\b)(\w+)/gi), ([, name = ""]) => name),
      ),
    ];
    this.#tablesOf.set(sql, named);
    return named;
  }

  #replay(): Promise<void> {
    const until = this.#written;
    if (this.#replaying && this.#replaying.until >= until) return this.#replaying.done;
    const done = this.#options.replay(this.#end).then(() => {
      this.#ran = Math.max(this.#ran, until);
      this.#isBehind = false;
      if (this.#ran === this.#written) this.#tables.clear();
    });
    const replaying = { until, done };
    this.#replaying = replaying;
    const over = () => {
      if (this.#replaying === replaying) this.#replaying = undefined;
    };
    done.then(over, over);
    return done;
  }

  #lookIn(ms: number): void {
    this.#cancelLook ??= this.#options.clock.setTimeout(() => {
      this.#cancelLook = undefined;
      void this.#look();
    }, ms);
  }

  /** Runs the transactions if the event loop has time, or if no more of them arrive. */
  async #look(): Promise<void> {
    const load = performance.eventLoopUtilization();
    const isBusy = performance.eventLoopUtilization(load, this.#load).utilization > BUSY;
    this.#load = load;
    const isIdle = !this.#wrote;
    this.#wrote = false;
    if (isIdle || !isBusy) return this.run();
    this.#lookIn(LOOK_MS);
  }
}

async function syncDirectory(path: string): Promise<void> {
  if (process.platform === "win32") return; // a directory cannot be opened there
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function refusal(error: unknown): GatewayError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const what = code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG" ? "the disk is full" : "the disk failed";
  const cause = new Error(messageOf(error), { cause: error });
  return new GatewayError("UNAVAILABLE", `${what}; try again`, { retryAfterMs: RETRY_AFTER_MS, cause });
}
