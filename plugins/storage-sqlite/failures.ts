/** Converts errors of SQLite to failures for the caller. Pure. */
import type { Failure } from "./messages.ts";

/** Milliseconds after which a write may be retried that failed because of a full disk or a locked file. */
export const RETRY_AFTER_MS = 1_000;

/** Primary result codes of temporary failures, https://sqlite.org/rescode.html: the file is intact, the environment is not. */
const PASSING = new Map([
  [5, "the database is busy"], // BUSY
  [6, "the database is busy"], // LOCKED
  [7, "the database is out of memory"], // NOMEM
  [8, "the database cannot be written"], // READONLY
  [10, "the disk failed"], // IOERR
  [13, "the disk is full"], // FULL
  [14, "the database file cannot be opened"], // CANTOPEN
]);
const DAMAGED = new Set([11, 26]); // CORRUPT, NOTADB

const UNIQUE = new Set([1555, 2067, 2579]); // CONSTRAINT_PRIMARYKEY, _UNIQUE, _ROWID
const FOREIGN_KEY = 787;

/** The driver omits the code in queries that return rows; SQLite's sentences are stable. */
const CODE_OF_SENTENCE: readonly [RegExp, number][] = [
  [/^UNIQUE constraint failed/, 2067],
  [/^FOREIGN KEY constraint failed/, FOREIGN_KEY],
  [/^database is locked/, 5],
  [/^database (?:schema|table) is locked/, 6],
  [/^out of memory/, 7],
  [/^attempt to write a readonly database/, 8],
  [/^disk I\/O error/, 10],
  [/^database disk image is malformed/, 11],
  [/^database or disk is full/, 13],
  [/^unable to open database file/, 14],
  [/^file is not a database/, 26],
];

/** A refusal by this plugin, not by SQLite. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** SQLite's extended result code of `thrown`, or 0 if it is not an SQLite error. */
export function resultCode(thrown: unknown): number {
  if (!(thrown instanceof Error)) return 0;
  if ("errcode" in thrown && typeof thrown.errcode === "number") return thrown.errcode;
  return CODE_OF_SENTENCE.find(([sentence]) => sentence.test(thrown.message))?.[1] ?? 0;
}

/**
 * The failure for the caller. @param sql the failing statement, shown (first 200 characters) for a mistake of the caller.
 */
export function failureOf(thrown: unknown, sql?: string): Failure {
  if (thrown instanceof Refused) return thrown.failure;
  const cause = thrown instanceof Error ? thrown.message : String(thrown);
  const code = resultCode(thrown);
  if (UNIQUE.has(code)) return { code: "CONFLICT", message: "a row with this key already exists", cause };
  if (code === FOREIGN_KEY) {
    return { code: "CONFLICT", message: "a referenced row is missing, or other rows still refer to this row", cause };
  }
  const passing = PASSING.get(code & 0xff);
  if (passing !== undefined) {
    return { code: "UNAVAILABLE", message: `${passing}; try again`, retryAfterMs: RETRY_AFTER_MS, cause };
  }
  if (DAMAGED.has(code & 0xff)) {
    return { code: "UNAVAILABLE", message: "the database file is damaged; restore a backup", cause };
  }
  return { code: "FAULT", message: sql === undefined ? cause : `${cause} in: ${sql.slice(0, 200)}`, cause };
}
