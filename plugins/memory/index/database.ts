/** Opens the index file. A damaged file, or one of another version, is recreated: everything in it can be rebuilt. */
import { lazy } from "@svc/sdk";
import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { chmodSync, closeSync, mkdirSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { SCHEMA, SCHEMA_VERSION } from "./schema.ts";

export interface OpenIndex {
  readonly database: DatabaseSyncInstance;
  /** `vec_distance_cosine` is available. */
  readonly hasExtension: boolean;
}

export interface OpenOptions {
  readonly file: string;
  /** Path of the extension. Default: sqlite-vec for this platform. When it throws, the extension is not used. */
  readonly extension?: () => string | Promise<string>;
  /** Remove an existing file first; it must not be open. Default false. */
  readonly isFresh?: boolean;
  /** Receives notes for the operator. */
  readonly note: (message: string) => void;
}

/** @throws Damaged; Unavailable for a file that cannot be opened */
export async function openIndex(options: OpenOptions): Promise<OpenIndex> {
  if (options.isFresh === true) removeIndex(options.file);
  try {
    return await open(options);
  } catch (thrown) {
    throw isDamage(thrown) ? new Damaged(messageOf(thrown)) : described(thrown, options.file);
  }
}

/** Removes the file and SQLite's side files. */
function removeIndex(file: string): void {
  for (const end of ["", "-wal", "-shm", "-journal"]) rmSync(`${file}${end}`, { force: true, recursive: true });
}

async function open({ file, extension = packagedExtension, note }: OpenOptions): Promise<OpenIndex> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, "a", 0o600)); // SQLite gives its side files the same mode
  chmodSync(file, 0o600);
  const database = new DatabaseSync(file, { timeout: 5_000, enableForeignKeyConstraints: true, allowExtension: true });
  try {
    const hasExtension = await load(database, extension, note);
    // A power cut may lose the last writes; they are rebuilt.
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY");
    database.exec("PRAGMA journal_size_limit = 67108864");
    const { user_version: version } = database.prepare("PRAGMA user_version").get() as { user_version: number };
    const { count } = database.prepare("SELECT count(*) AS count FROM sqlite_schema").get() as { count: number };
    if (count > 0 && version !== SCHEMA_VERSION) throw new Damaged(`it has version ${version}`);
    if (count === 0) database.exec(`BEGIN; ${SCHEMA}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
    return { database, hasExtension };
  } catch (thrown) {
    database.close();
    throw thrown;
  }
}

async function load(
  database: DatabaseSyncInstance,
  extension: NonNullable<OpenOptions["extension"]>,
  note: OpenOptions["note"],
): Promise<boolean> {
  try {
    const path = await extension();
    database.enableLoadExtension(true);
    database.loadExtension(path);
    return true;
  } catch (thrown) {
    note(`sqlite-vec cannot be loaded (${messageOf(thrown)}); vectors are compared without it, which is slower`);
    return false;
  } finally {
    database.enableLoadExtension(false);
  }
}

const extension = lazy(() => import("sqlite-vec"));

async function packagedExtension(): Promise<string> {
  const { getLoadablePath } = await extension();
  return getLoadablePath();
}

/**
 * The file must be recreated, after the thread that has it open has ended: the driver closes a connection only
 * when its statements are garbage collected, and that late close would remove side files of the new database.
 */
export class Damaged extends Error {
  override readonly name = "Damaged";
}

/** Primary result codes CORRUPT and NOTADB. Some errors of the driver have no code; their messages are stable. */
const DAMAGED = new Set([11, 26]);
const SENTENCE = /malformed|file is not a database|corrupt/i;

/** Whether recreating the file helps. */
export function isDamage(thrown: unknown): boolean {
  if (thrown instanceof Damaged) return true;
  if (!(thrown instanceof Error)) return false;
  if ("errcode" in thrown && typeof thrown.errcode === "number") return DAMAGED.has(thrown.errcode & 0xff);
  return SENTENCE.test(thrown.message);
}

/** The index cannot be used. The message names the next step. */
class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** Message for people, for an error of the disk or the file; `undefined`: a bug. */
export function failureOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined;
  if (thrown instanceof Unavailable) return thrown.message;
  const isOfDatabase = "errcode" in thrown || /^(?:database|disk|unable to open)/.test(thrown.message);
  return isOfDatabase ? `the memory index cannot be used (${thrown.message}); try again` : undefined;
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function described(thrown: unknown, file: string): Unavailable {
  const advice = "check that its directory is writable and has free space, and that no other program has it open";
  return new Unavailable(`the index ${file} cannot be opened: ${messageOf(thrown)}; ${advice}`, { cause: thrown });
}
