/** Converts errors of PostgreSQL and of the connection to errors of `Storage`. Pure. */
import { GatewayError, messageOf } from "@svc/sdk";

/** Milliseconds after which a call may be repeated that failed because of the server or the connection. */
export const RETRY_AFTER_MS = 1_000;

/** SQLSTATE of a failed `expectChanges`, raised by `svc_expect`. */
const UNEXPECTED = "SV001";
const UNIQUE = "23505";
const FOREIGN_KEY = "23503";
const READ_ONLY = "25006";

/** Another transaction was in the way: the same statements may succeed at once. */
const RETRIED = new Set(["40001", "40P01", UNIQUE, "26000"]); // 26000: its preparation was sent in a transaction that failed
/** A prepared statement no longer fits the tables. */
const STALE = "0A000";

/** SQLSTATEs, or their first characters, of temporary failures. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const PASSING: readonly (readonly [code: string, message: string])[] = [
  ["53100", "the disk of the database is full"],
  ["53", "the database has too little memory or too many connections"],
  ["57P", "the database is stopping or starting"],
  ["57014", "the database took too long"],
  ["55P03", "the database is busy"],
  ["40", "the database is busy"],
  ["58", "the disk of the database failed"],
  [READ_ONLY, "the database accepts no writes"],
  ["08", "the connection to the database failed"],
];

/** A mistake of the caller that was found here, not by the server. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly reason: Error;

  constructor(reason: unknown) {
    const error = reason instanceof Error ? reason : new Error(String(reason));
    super(error.message);
    this.reason = error;
  }
}

/** The SQLSTATE; `undefined` for an error that the server did not send. */
export function stateOf(thrown: unknown): string | undefined {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && "severity" in (thrown as object) ? code : undefined;
}

/** Whether the connection is lost, or was closed by the server. */
export function isLost(thrown: unknown): boolean {
  const state = stateOf(thrown);
  return state === undefined ? !(thrown instanceof Refused) : state.startsWith("57P") || state.startsWith("08");
}

export function isWorthRepeating(thrown: unknown): boolean {
  const state = stateOf(thrown);
  return state !== undefined && (RETRIED.has(state) || state === STALE);
}

/** Whether the prepared statements of the connection must be dropped. */
export function isStale(thrown: unknown): boolean {
  return stateOf(thrown) === STALE;
}

/** A row with the key exists: an older one, or one that another gateway has just written. */
export function isUnique(thrown: unknown): boolean {
  return stateOf(thrown) === UNIQUE;
}

/**
 * The error for the caller.
 * @param sql the failing statement, shown (first 200 characters) for a mistake of the caller
 * @param isWrite a write whose connection was lost may or may not have happened
 */
export function errorOf(thrown: unknown, sql?: string, isWrite = false): Error {
  if (thrown instanceof GatewayError) return thrown;
  if (thrown instanceof Refused) return thrown.reason;
  const cause = thrown instanceof Error ? thrown : new Error(String(thrown));
  const state = stateOf(thrown);
  if (state === undefined || (isWrite && isLost(thrown))) {
    if (!isWrite) return unavailable("the connection to the database failed", cause);
    const message = "the connection to the database failed; check whether the change was made before you repeat it";
    return new GatewayError("UNAVAILABLE", message, { details: { outcome: "unknown" }, cause });
  }
  if (state === UNEXPECTED) return conflict("the data was changed by another call meanwhile; read it again", cause);
  if (state === UNIQUE) return conflict("a row with this key already exists", cause);
  if (state === FOREIGN_KEY)
    return conflict("a referenced row is missing, or other rows still refer to this row", cause);
  const [, passing] = PASSING.find(([code]) => state.startsWith(code)) ?? [];
  if (passing !== undefined) return unavailable(passing, cause);
  if (state === "XX001" || state === "XX002")
    return new GatewayError("UNAVAILABLE", "the database is damaged; restore a backup", { cause });
  const said = messageOf(thrown);
  return new Error(sql === undefined ? said : `${said} in: ${sql.slice(0, 200)}`, { cause });
}

/** As `errorOf`, for a read. A write through a read method is a mistake of the caller. */
export function readErrorOf(thrown: unknown, sql: string): Error {
  if (stateOf(thrown) !== READ_ONLY) return errorOf(thrown, sql);
  return new Error(`all and get only read; use transaction in: ${sql.slice(0, 200)}`, { cause: thrown });
}

function conflict(message: string, cause: Error): GatewayError {
  return new GatewayError("CONFLICT", message, { cause });
}

function unavailable(message: string, cause: Error): GatewayError {
  return new GatewayError("UNAVAILABLE", `${message}; try again`, { retryAfterMs: RETRY_AFTER_MS, cause });
}
