/** Prepared statements of one connection; the least recently used is dropped first. */
import { shapeOf, type StatementShape, toBinding } from "@svc/kit/sql";
import type { SqlValue } from "@svc/sdk/storage";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";

export interface Prepared extends StatementShape {
  readonly statement: StatementSyncInstance;
  readonly returnsRows: boolean;
  /** Integers are read as bigint. */
  bigints: boolean;
}

export interface PreparedStatements {
  /** @throws Error for text that is not one allowed statement, or that SQLite cannot compile. */
  get(sql: string): Prepared;
  clear(): void;
}

/**
 * @param capacity maximum number of cached statements; default 256. The driver finalizes dropped statements on garbage
 * collection.
 */
export function preparedStatements(connection: DatabaseSyncInstance, capacity = 256): PreparedStatements {
  const kept = new Map<string, Prepared>();

  function compile(sql: string): Prepared {
    const shape = shapeOf(sql);
    const statement = connection.prepare(sql);
    return { ...shape, statement, returnsRows: statement.columns().length > 0, bigints: false };
  }

  return {
    get(sql) {
      const prepared = kept.get(sql) ?? compile(sql);
      kept.delete(sql); // a Map keeps insertion order, so this makes it the most recent
      kept.set(sql, prepared);
      const eldest = kept.size > capacity ? kept.keys().next().value : undefined;
      if (eldest !== undefined) kept.delete(eldest);
      return prepared;
    },
    clear: () => kept.clear(),
  };
}

/** Values in the form that the driver expects. @throws Error if their number differs from that of the placeholders. */
export function bindings({ placeholders }: Prepared, params: readonly SqlValue[] = []): SqlValue[] {
  if (params.length !== placeholders) {
    throw new Error(`the statement has ${placeholders} placeholders, but ${params.length} parameters were given`);
  }
  return params.map(toBinding);
}
