/** Validates the calls of `Storage`. Pure. */
import { invalidRequest } from "@svc/sdk/errors";
import type { Dialect, Sql, SqlValue, Statement } from "@svc/sdk/storage";

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** A statement for one engine. */
export interface OwnStatement extends Statement {
  readonly sql: string;
}

/**
 * A validated copy of the statement with the text for this engine; later changes by the caller do not affect it.
 * @throws TypeError for SQL that is not a string, an invalid `expectChanges`, and a value that a column cannot hold.
 */
export function checkedStatement({ sql, params, expectChanges }: Statement, engine: Dialect["name"]): OwnStatement {
  if (expectChanges !== undefined && !(Number.isSafeInteger(expectChanges) && expectChanges >= 0)) {
    throw new TypeError(`expectChanges must be a count of rows, not ${String(expectChanges)}`);
  }
  const checked = { sql: checkedSql(sql, engine), params: checkedParams(params) };
  return expectChanges === undefined ? checked : { ...checked, expectChanges };
}

/** As `checkedStatement`, for `append`. @throws TypeError also for `expectChanges` */
export function checkedAppend(statement: Statement, engine: Dialect["name"]): OwnStatement {
  if (statement.expectChanges !== undefined) throw new TypeError("append cannot check expectChanges; use transaction");
  return checkedStatement(statement, engine);
}

/** The text for this engine. @throws TypeError */
export function checkedSql(sql: Sql, engine: Dialect["name"]): string {
  const text: unknown = typeof sql === "object" && sql !== null ? sql[engine] : sql;
  if (typeof text !== "string") throw new TypeError(`SQL must be a string, not ${describe(text)}`);
  return text;
}

/**
 * @throws TypeError naming the position, from 1. SQLite would silently turn most of these values into NULL.
 * @throws GatewayError `INVALID_REQUEST` for a text with the character U+0000: client input, not a fault of a plugin
 */
export function checkedParams(params: readonly SqlValue[] = []): readonly SqlValue[] {
  if (!Array.isArray(params)) throw new TypeError(`params must be an array, not ${describe(params)}`);
  return Array.from(params, checkedValue); // unlike `map`, visits the holes of a sparse array
}

function checkedValue(value: unknown, index: number): SqlValue {
  if (value === null) return value;
  if (value instanceof Uint8Array) return new Uint8Array(value); // a pooled Buffer would be sent with its whole pool
  if (typeof value === "number" && !Number.isNaN(value)) return value;
  if (typeof value === "bigint" && value >= MIN_INT64 && value <= MAX_INT64) return value;
  if (typeof value === "string") return value.includes("\0") ? invalidRequest(NO_ZERO) : value;
  throw new TypeError(`parameter ${index + 1} is ${describe(value)}; ${adviceFor(value)}`);
}

/** Choice: SQLite would cut the text there, and PostgreSQL refuses it. */
const NO_ZERO = "a text with the character U+0000 can be neither stored nor searched; remove the character";

function describe(value: unknown): string {
  if (value === null) return "null";
  if (value instanceof Date) return "a Date";
  if (Array.isArray(value)) return "an array";
  if (Number.isNaN(value)) return "NaN";
  if (typeof value === "bigint") return "a bigint above 64 bits";
  return typeof value === "undefined" ? "undefined" : `of type ${typeof value}`;
}

function adviceFor(value: unknown): string {
  if (value instanceof Date) return "use epoch milliseconds";
  if (typeof value === "boolean") return "use 0 or 1";
  if (typeof value === "undefined") return "use null";
  return "use a string, number, bigint, null or Uint8Array";
}
