/** Size of the tables and of the schema. */
import type { DatabaseSpace, Engine, Space } from "@svc/kit/storage";
import type { Clock } from "@svc/sdk";
import type { Client } from "pg";
import type { StorageOwner } from "./storage.ts";

/** Tables of the schema, with indexes and large values. Dead rows count as free. */
const SIZES = `SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes, coalesce(s.n_dead_tup, 0) AS dead,
    greatest(c.reltuples, coalesce(s.n_live_tup, 0), 0) AS live
  FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
  WHERE c.relkind = 'r' AND c.relnamespace = to_regnamespace(current_schema())`;

interface TableSize {
  readonly name: string;
  readonly bytes: number;
  readonly dead: number;
  readonly live: number;
}

/** `shrink` does nothing: autovacuum makes the space of deleted rows free for others. */
export function createEngine(
  { storage, signals, urgent, apart }: StorageOwner,
  clock: Pick<Clock, "elapsed">,
  members: NonNullable<Engine["members"]>,
): Engine {
  const sizes = (client: Client) => client.query<TableSize>(SIZES).then(({ rows }) => rows);

  async function space(): Promise<DatabaseSpace> {
    const tables = await apart(sizes);
    const bytes = tables.reduce((total, one) => total + one.bytes, 0);
    const free = tables.reduce((total, one) => total + (one.bytes * one.dead) / Math.max(1, one.dead + one.live), 0);
    return { bytes, freeBytes: Math.round(free), givesBack: false };
  }

  return {
    storage,
    signals,
    urgent,
    members,
    space,
    async rewrite() {
      const began = clock.elapsed();
      const { bytes: before } = await space();
      await apart(async (client) => {
        for (const { name } of await sizes(client)) await client.query(`VACUUM (FULL, ANALYZE) "${name}"`);
      });
      const { bytes: after } = await space();
      return { before, after, ms: Math.round(clock.elapsed() - began) };
    },
    tables: (signal) =>
      apart(async (client) => {
        const spaces = new Map<string, Space>();
        for (const { name, bytes } of await sizes(client)) {
          signal.throwIfAborted();
          const { rows } = await client.query<{ n: number }>(`SELECT count(*) AS n FROM "${name}"`);
          spaces.set(name, { rows: rows[0]?.n ?? 0, bytes });
        }
        return spaces;
      }),
  };
}
