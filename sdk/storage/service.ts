/** The `Storage` service: durable tables for plugins. */
import { defineService } from "../service.ts";

/** What a column can hold. Convert dates yourself: epoch milliseconds. */
export type SqlValue = string | number | bigint | null | Uint8Array;
/** One row, by column. */
export type Row = Readonly<Record<string, SqlValue>>;

/** One statement of a transaction. Placeholders are `?`. */
export interface Statement {
  readonly sql: string;
  readonly params?: readonly SqlValue[];
  /** Rows it must change; another number rolls the whole transaction back and throws `CONFLICT`. */
  readonly expectChanges?: number;
}

/** What one statement did. */
export interface StatementResult {
  readonly changes: number;
  /** Rows of a statement with `RETURNING`, else empty. */
  readonly rows: readonly Row[];
}

/**
 * SQL in the dialect SQLite and PostgreSQL share. Nothing runs on the event loop's thread.
 * @throws GatewayError `UNAVAILABLE` (with `retryAfterMs`) when the disk or the database cannot write; reads go on.
 */
export interface Storage {
  /** File of the database, or a display form of its address. */
  readonly location: string;
  /**
   * Applies the steps of `owner` that were not applied yet, in order, each with its record in one transaction.
   * Steps are only ever appended; a changed earlier step throws.
   */
  migrate(owner: string, steps: readonly string[]): Promise<void>;
  all<T = Row>(sql: string, params?: readonly SqlValue[]): Promise<T[]>;
  get<T = Row>(sql: string, params?: readonly SqlValue[]): Promise<T | undefined>;
  /** All statements or none. Resolves when it survives a power cut; transactions waiting together share one commit. */
  transaction(statements: readonly Statement[]): Promise<StatementResult[]>;
}

/** Durable tables. Provided by a storage plugin. */
export const Storage = defineService<Storage>()("storage", "1.0.0", { remotable: true });
