/** The `Storage` service: durable tables for plugins. */
import { defineService } from "../service.ts";
import type { Sql } from "./dialect.ts";

/** A column value. Convert dates yourself: epoch milliseconds. */
export type SqlValue = string | number | bigint | null | Uint8Array;
/** One row, by column. */
export type Row = Readonly<Record<string, SqlValue>>;

/** One statement of a transaction. Placeholders are `?`. */
export interface Statement {
  readonly sql: Sql;
  readonly params?: readonly SqlValue[];
  /** Number of rows it must change; any other number rolls the whole transaction back and throws `CONFLICT`. */
  readonly expectChanges?: number;
}

/** Result of one statement. */
export interface StatementResult {
  readonly changes: number;
  /** Rows of a statement with `RETURNING`, otherwise empty. */
  readonly rows: readonly Row[];
}

/**
 * SQL that SQLite and PostgreSQL share; `sqlFor` writes what differs. Texts compare byte by byte, and an upper-case letter in an unquoted
 * column alias is not portable. No call blocks the event loop.
 * @throws GatewayError `UNAVAILABLE` (with `retryAfterMs`) if the disk or database cannot be written; reads still work.
 */
export interface Storage {
  /** File of the database, or a display form of its address. */
  readonly location: string;
  /**
   * Applies those migration steps of `owner` that are not applied yet, in order, each in one transaction with its
   * record. Only append steps; a changed earlier step throws.
   */
  migrate(owner: string, steps: readonly Sql[]): Promise<void>;
  all<T = Row>(sql: Sql, params?: readonly SqlValue[]): Promise<T[]>;
  get<T = Row>(sql: Sql, params?: readonly SqlValue[]): Promise<T | undefined>;
  /**
   * Runs all statements or none, as if no other transaction ran meanwhile. Resolves when the result survives a power failure; waiting transactions share one
   * commit.
   */
  transaction(statements: readonly Statement[]): Promise<StatementResult[]>;
  /**
   * As `transaction`, for statements that no data can refuse and whose results nobody needs, e.g. one more record. Costs a fraction of it: the
   * statements are written to a log, and run before the next call that names one of their tables, or as soon as there is time.
   * A statement that fails then is logged, and its transaction is dropped. Resolves when the statements survive a power failure.
   * @throws TypeError for `expectChanges`
   */
  append(statements: readonly Statement[]): Promise<void>;
}

/** Token of the service. */
export const Storage = defineService<Storage>()("storage", "1.2.0", {
  summary: "Durable SQL tables. Provided by a storage plugin; used by every plugin that stores records.",
  remotable: true,
});
