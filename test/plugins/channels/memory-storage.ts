/** Storage in memory, with real SQL and faults of a test's choice. */
import { DatabaseSync } from "@photostructure/sqlite";
import { GatewayError } from "@svc/sdk";
import { checkedSql } from "@svc/kit/sql";
import type { Row, Statement, Storage } from "@svc/sdk/storage";

/** A write fails with `error`, either before any effect or after the whole write. */
export interface Fault {
  readonly when: "before" | "after";
  readonly error: () => Error;
}

export interface MemoryStorage {
  readonly storage: Storage;
  readonly database: InstanceType<typeof DatabaseSync>;
  /** Number of writes so far. */
  readonly writes: number;
  /** Decides the outcome of each write, counted from 1. */
  fault: (write: number) => Fault | undefined;
}

export function memoryStorage(database = new DatabaseSync(":memory:")): MemoryStorage {
  let writes = 0;
  const apply = (statements: readonly Statement[]) => {
    database.exec("BEGIN");
    try {
      const results = statements.map(({ sql, params = [], expectChanges }) => {
        const text = checkedSql(sql, "sqlite");
        const prepared = database.prepare(text);
        const rows = text.includes(" RETURNING ") ? (prepared.all(...(params as string[])) as Row[]) : [];
        const changes = rows.length || prepared.run(...(params as string[])).changes;
        if (expectChanges !== undefined && changes !== expectChanges) throw new GatewayError("CONFLICT", "other rows");
        return { changes, rows };
      });
      database.exec("COMMIT");
      return results;
    } catch (error) {
      database.exec("ROLLBACK");
      throw error;
    }
  };
  const memory = {
    database,
    get writes() {
      return writes;
    },
    fault: (_write: number): Fault | undefined => undefined,
    storage: {
      location: ":memory:",
      async migrate(_owner: string, steps: readonly string[]) {
        const [table] = database.prepare("SELECT name FROM sqlite_master").all();
        if (!table) for (const step of steps) database.exec(step);
      },
      all: async (sql: string, params: string[] = []) => database.prepare(checkedSql(sql, "sqlite")).all(...params),
      get: async (sql: string, params: string[] = []) =>
        database.prepare(checkedSql(sql, "sqlite")).get(...params) ?? undefined,
      async transaction(statements: readonly Statement[]) {
        const fault = memory.fault((writes += 1));
        if (fault?.when === "before") throw fault.error();
        const results = apply(statements);
        if (fault) throw fault.error();
        return results;
      },
    } as unknown as Storage, // its methods are generic in their rows
  };
  return memory;
}
