/** Decides what a caller is told about an error of SQLite. Pure. */
import type { Failure } from "./messages.ts";

/** Milliseconds after which a write that met a full disk or a busy file may be tried again. */
export const RETRY_AFTER_MS = 1_000;

/** Primary result codes that pass, https://sqlite.org/rescode.html; the file is fine, the machine is not. */
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

/** The driver leaves the code out when rows were asked for; SQLite's sentences are stable. */
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

/** A refusal that was decided here, not by SQLite. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** SQLite's extended result code of `thrown`, or 0 when it is not an error of SQLite. */
export function resultCode(thrown: unknown): number {
  if (!(thrown instanceof Error)) return 0;
  if ("errcode" in thrown && typeof thrown.errcode === "number") return thrown.errcode;
  return CODE_OF_SENTENCE.find(([sentence]) => sentence.test(thrown.message))?.[1] ?? 0;
}

/**
 * What the caller is told. @param sql the statement at fault, shown (first 200 characters) for a mistake of the caller.
 */
export function failureOf(thrown: unknown, sql?: string): Failure {
  if (thrown instanceof Refused) return thrown.failure;
  const cause = thrown instanceof Error ? thrown.message : String(thrown);
  const code = resultCode(thrown);
  if (UNIQUE.has(code)) return { code: "CONFLICT", message: "it exists already", cause };
  if (code === FOREIGN_KEY) {
    return { code: "CONFLICT", message: "what it refers to is missing, or something still refers to it", cause };
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
