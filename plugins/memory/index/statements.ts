/** Statements of one connection, compiled once, and transactions. */
import type { DatabaseSyncInstance } from "@photostructure/sqlite";

type Value = string | number | bigint | Uint8Array | null;

export interface Statements {
  /** @template T type of the rows, unchecked */
  all<T>(sql: string, ...values: readonly Value[]): T[];
  /** @returns id of the inserted row */
  run(sql: string, ...values: readonly Value[]): number;
  /** Without preparing: for DDL. */
  exec(sql: string): void;
  /** Runs the synchronous `work` in a transaction. */
  together<T>(work: () => T): T;
}

export function statementsOf(database: DatabaseSyncInstance): Statements {
  const prepared = new Map<string, ReturnType<DatabaseSyncInstance["prepare"]>>();
  const statement = (sql: string) => {
    const known = prepared.get(sql);
    if (known) return known;
    const made = database.prepare(sql);
    prepared.set(sql, made);
    return made;
  };
  return {
    all: <T>(sql: string, ...values: readonly Value[]) => statement(sql).all(...values.map(bound)) as T[], // unchecked
    run: (sql, ...values) => Number(statement(sql).run(...values.map(bound)).lastInsertRowid),
    exec: (sql) => database.exec(sql),
    together(work) {
      database.exec("BEGIN IMMEDIATE");
      try {
        const result = work();
        database.exec("COMMIT");
        return result;
      } catch (thrown) {
        if (database.isTransaction) database.exec("ROLLBACK");
        throw thrown;
      }
    },
  };
}

/** The driver binds integers outside 32 bits as REAL. */
function bound(value: Value): Value {
  return typeof value === "number" && Number.isSafeInteger(value) && value !== (value | 0) ? BigInt(value) : value;
}
