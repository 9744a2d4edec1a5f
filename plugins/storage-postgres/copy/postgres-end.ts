/** PostgreSQL as one side of a copy. */
import type { Clock } from "@svc/sdk";
import { parseAddress } from "../address.ts";
import { createStorage } from "../storage.ts";
import { type End, OWN_TABLES, type Table } from "./end.ts";

const TABLES = `SELECT c.relname AS name, a.attname AS column, format_type(a.atttypid, a.atttypmod) AS type,
    array_position(cast(i.indkey AS int[]), cast(a.attnum AS int)) AS key
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
  WHERE c.relkind = 'r' AND c.relnamespace = to_regnamespace(current_schema()) ORDER BY c.oid, a.attnum`;

/** @throws Error naming the address without credentials, and the next step */
export async function openPostgres(url: string, stateDir: string, clock: Pick<Clock, "now">): Promise<End> {
  const { storage, open, close } = createStorage({ clock, log: { warn: () => undefined } });
  await open(parseAddress(url, stateDir), 2, { isCopy: true });
  return {
    location: storage.location,
    all: (sql, params) => storage.all(sql, params),
    transaction: (statements) => storage.transaction(statements),
    migrate: (owner, steps) => storage.migrate(owner, steps),
    async tables() {
      const rows = await storage.all<{ name: string; column: string; type: string; key: number | null }>(TABLES);
      const names = [...new Set(rows.map(({ name }) => name))].filter((name) => !OWN_TABLES.has(name));
      return names.map((name): Table => {
        const own = rows.filter((row) => row.name === name);
        return {
          name,
          columns: own.map(({ column }) => column),
          integers: new Set(own.filter(({ type }) => type === "bigint").map(({ column }) => column)),
          key: own
            .filter(({ key }) => key !== null)
            .toSorted((one, other) => Number(one.key) - Number(other.key))
            .map(({ column }) => column),
          hasBytes: own.some(({ type }) => type === "bytea"),
        };
      });
    },
    complete: () => Promise.resolve(),
    close,
  };
}
