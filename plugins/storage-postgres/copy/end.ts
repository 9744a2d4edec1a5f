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

/** A column of a table, as an engine describes it. */
export interface Column {
  readonly table: string;
  readonly name: string;
  /** Lower case. */
  readonly type: string;
  /** Position in the primary key; 0: not part of it. */
  readonly key: number;
}

/** @param columns in the order of their tables */
export function tablesOf(columns: readonly Column[]): Table[] {
  const names = [...new Set(columns.map(({ table }) => table))].filter((name) => !OWN_TABLES.has(name));
  return names.map((name) => {
    const own = columns.filter(({ table }) => table === name);
    const key = own.filter((one) => one.key > 0).toSorted((one, other) => one.key - other.key);
    return {
      name,
      columns: own.map((one) => one.name),
      integers: new Set(own.filter(({ type }) => /^(?:big)?int/.test(type)).map((one) => one.name)),
      key: key.map((one) => one.name),
      hasBytes: own.some(({ type }) => type === "blob" || type === "bytea"),
    };
  });
}

export interface End {
  /** For people. */
  readonly location: string;
  all(sql: string, params?: readonly SqlValue[]): Promise<readonly Row[]>;
  transaction(statements: readonly Statement[]): Promise<unknown>;
  /** Applies the steps that are not applied yet. */
  migrate(owner: string, steps: readonly Sql[]): Promise<void>;
  /** In the order of their creation. */
  columns(): Promise<readonly Column[]>;
  /** Whether data may be there that no copy wrote. */
  readonly isShared: boolean;
  /** Makes what was copied the state that a gateway opens. */
  complete(): Promise<void>;
  close(): Promise<void>;
}

/** Tables that are not copied: records of the engine and of the copy itself. */
const OWN_TABLES: ReadonlySet<string> = new Set([
  "svc_migrations",
  "svc_appended",
  "svc_copy",
  "svc_stream",
  "svc_ring",
  "svc_ring_intact",
  "svc_config",
]);
