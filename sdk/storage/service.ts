/** The `Storage` service: durable tables for plugins. */
import { defineService } from "../service.ts";

/** A column value. Convert dates yourself: epoch milliseconds. */
export type SqlValue = string | number | bigint | null | Uint8Array;
/** One row, by column. */
export type Row = Readonly<Record<string, SqlValue>>;

/** One statement of a transaction. Placeholders are `?`. */
export interface Statement {
  readonly sql: string;
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
 * SQL in the dialect shared by SQLite and PostgreSQL. Nothing runs on the thread of the event loop.
 * @throws GatewayError `UNAVAILABLE` (with `retryAfterMs`) if the disk or database cannot be written; reads still work.
 */
export interface Storage {
  /** File of the database, or a display form of its address. */
  readonly location: string;
  /**
   * Applies those migration steps of `owner` that are not applied yet, in order, each in one transaction with its
   * record. Only append steps; a changed earlier step throws.
   */
  migrate(owner: string, steps: readonly string[]): Promise<void>;
  all<T = Row>(sql: string, params?: readonly SqlValue[]): Promise<T[]>;
  get<T = Row>(sql: string, params?: readonly SqlValue[]): Promise<T | undefined>;
  /**
   * Runs all statements or none. Resolves when the result survives a power failure; waiting transactions share one
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
export const Storage = defineService<Storage>()("storage", "1.1.0", {
  summary: "Durable SQL tables. Provided by a storage plugin; used by every plugin that stores records.",
  remotable: true,
});
