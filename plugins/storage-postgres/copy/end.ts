/** One side of a copy: what the copy needs of an engine. */
import type { Row, Sql, SqlValue, Statement } from "@svc/sdk/storage";

/** A table, as far as a copy needs to know it. */
export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** Columns of whole numbers: a fraction is rounded. SQLite accepts any value in any column. */
  readonly integers: ReadonlySet<string>;
  /** Columns of the primary key; empty: it has none. */
  readonly key: readonly string[];
  /** Has a column of bytes, which may be large. */
  readonly hasBytes: boolean;
}

/** A migration step that was applied. */
export interface AppliedStep {
  readonly owner: string;
  /** Absent: applied by a version that did not record its text. */
  readonly sql?: Sql;
}

export interface End {
  /** For people. */
  readonly location: string;
  all(sql: string, params?: readonly SqlValue[]): Promise<readonly Row[]>;
  transaction(statements: readonly Statement[]): Promise<unknown>;
  /** Applies the steps that are not applied yet. */
  migrate(owner: string, steps: readonly Sql[]): Promise<void>;
  /** In the order of their creation, without the tables of the engine itself. */
  tables(): Promise<readonly Table[]>;
  /** Makes what was copied the state that a gateway opens. */
  complete(): Promise<void>;
  close(): Promise<void>;
}

/** Tables that are not copied: records of the engine and of the copy itself. */
export const OWN_TABLES: ReadonlySet<string> = new Set(["svc_migrations", "svc_appended", "svc_copy"]);
