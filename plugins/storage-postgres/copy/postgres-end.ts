/** PostgreSQL as one side of a copy. */
import type { Clock } from "@svc/sdk";
import { parseAddress } from "../address.ts";
import { createStorage } from "../storage.ts";
import type { Column, End } from "./end.ts";

const COLUMNS = `SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
    coalesce(array_position(cast(i.indkey AS int[]), cast(a.attnum AS int)) + 1, 0) AS key
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
  WHERE c.relkind = 'r' AND c.relnamespace = to_regnamespace(current_schema()) ORDER BY c.oid, a.attnum`;

/** @throws Error naming the address without credentials, and the next step */
export async function openPostgres(url: string, stateDir: string, clock: Pick<Clock, "now">): Promise<End> {
  const { storage, open, close } = createStorage({ clock, log: { warn: () => undefined } });
  await open(parseAddress(url, stateDir), 2, { isCopy: true });
  return {
    location: storage.location,
    isShared: true,
    all: (sql, params) => storage.all(sql, params),
    transaction: (statements) => storage.transaction(statements),
    migrate: (owner, steps) => storage.migrate(owner, steps),
    columns: () => storage.all<Column>(COLUMNS),
    complete: () => Promise.resolve(),
    close,
  };
}
