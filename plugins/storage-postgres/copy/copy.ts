/** Copies a state from one engine to the other: in batches that a repeated copy does not repeat, then verified. */
import { createHash } from "node:crypto";
import type { Row, Sql, SqlValue } from "@svc/sdk/storage";
import { OWNER } from "../functions.ts";
import { type End, type Table, tablesOf } from "./end.ts";

/** Choice: rows of a batch; of a table with bytes, whose rows may have 20 MB. */
const BATCH = 500;
const BATCH_OF_BYTES = 4;

const PROGRESS = "CREATE TABLE IF NOT EXISTS svc_copy (name TEXT PRIMARY KEY, done BIGINT NOT NULL, last TEXT)";

export interface CopyOptions {
  readonly from: End;
  readonly to: End;
  /** Owners whose tables are left out. */
  readonly without: ReadonlySet<string>;
  /** Called after each batch. @param total rows of the table */
  readonly progress: (table: string, done: number, total: number) => void;
}

export interface Copied {
  readonly tables: readonly { readonly name: string; readonly rows: number; readonly checksum: string }[];
}

/** @throws Error naming the table or the plugin, and the next step; a repeated call continues */
export async function copyState({ from, to, without, progress }: CopyOptions): Promise<Copied> {
  await refuseForeign(to);
  await to.transaction([{ sql: PROGRESS }]);
  await migrateAll(from, to, without);
  const wanted = new Set(tablesOf(await to.columns()).map(({ name }) => name));
  const tables = tablesOf(await from.columns()).filter(({ name }) => wanted.has(name));
  for (const table of tables) await copyTable(from, to, table, progress);
  const copied: Copied["tables"][number][] = [];
  for (const table of tables) copied.push(await verified(from, to, table, progress));
  await to.transaction([{ sql: "DROP TABLE svc_copy" }]);
  await to.complete();
  return { tables: copied };
}

/** A target with data of its own is never changed. */
async function refuseForeign(to: End): Promise<void> {
  const columns = await to.columns();
  const isCopy = columns.some(({ table }) => table === "svc_copy");
  if (!to.isShared || isCopy || tablesOf(columns).length === 0) return;
  throw new Error(`${to.location} already holds a state; choose an empty place, e.g. another schema: ?schema=<name>`);
}

async function migrateAll(from: End, to: End, without: ReadonlySet<string>): Promise<void> {
  const rows = await from.all(
    "SELECT owner, sql FROM svc_migrations ORDER BY min(applied_at) OVER (PARTITION BY owner), owner, step",
  );
  const owners = new Map<string, Sql[]>();
  for (const { owner: name, sql } of rows) {
    const owner = String(name);
    if (owner === OWNER || without.has(owner)) continue;
    if (sql === null)
      throw new Error(
        `the tables of plugin ${owner} were created by an older version; start this version on ${from.location} once, with that plugin in use, ` +
          `or leave its tables out: --without ${owner}`,
      );
    owners.set(owner, [...(owners.get(owner) ?? []), JSON.parse(String(sql)) as Sql]); // written by `migrate` of an engine
  }
  for (const [owner, list] of owners) await to.migrate(owner, list);
}

async function copyTable(from: End, to: End, table: Table, progress: CopyOptions["progress"]): Promise<void> {
  const total = await countOf(from, table);
  const [saved] = await to.all("SELECT done, last FROM svc_copy WHERE name = ?", [table.name]);
  if (saved !== undefined && table.key.length === 0) return; // it was copied at once
  let done = Number(saved?.["done"] ?? 0);
  let last = keyOf(saved?.["last"]);
  // Rows that a trigger has added for rows of an earlier table.
  if (saved === undefined) await to.transaction([{ sql: `DELETE FROM ${table.name}` }]);
  for await (const rows of pagesOf(from, table, last)) {
    done += rows.length;
    last = table.key.map((column) => rows.at(-1)?.[column] ?? null);
    await to.transaction([
      ...rows.map((row) => insertOf(table, row)),
      {
        sql: `INSERT INTO svc_copy (name, done, last) VALUES (?, ?, ?)
          ON CONFLICT (name) DO UPDATE SET done = excluded.done, last = excluded.last`,
        params: [table.name, done, JSON.stringify(last.map(spelled))],
      },
    ]);
    progress(table.name, done, total);
  }
}

function insertOf({ name, columns, integers }: Table, row: Row) {
  return {
    sql: `INSERT INTO ${name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    params: columns.map((column) => normal(row[column] ?? null, integers.has(column))),
  };
}

/** Rows after a key, in the order of the key. A table without a key is one page, in any order. */
async function* pagesOf(
  end: End,
  { name, columns, key, hasBytes }: Table,
  after?: readonly SqlValue[],
): AsyncGenerator<readonly Row[], void> {
  const size = hasBytes ? BATCH_OF_BYTES : BATCH;
  const list = key.join(", ");
  if (key.length === 0) {
    yield await end.all(`SELECT ${columns.join(", ")} FROM ${name}`);
    return;
  }
  for (let last = after; ;) {
    const where = last === undefined ? "" : `WHERE (${list}) > (${key.map(() => "?").join(", ")})`;
    const rows = await end.all(
      `SELECT ${columns.join(", ")} FROM ${name} ${where} ORDER BY ${list} LIMIT ${size}`,
      last ?? [],
    );
    if (rows.length > 0) yield rows;
    if (rows.length < size) return;
    last = key.map((column) => rows.at(-1)?.[column] ?? null);
  }
}

/** Compares count and checksum of both sides; a table that differs is copied once more. */
async function verified(from: End, to: End, table: Table, progress: CopyOptions["progress"]) {
  for (let attempt = 1; ; attempt += 1) {
    const [one, other] = [await sumOf(from, table), await sumOf(to, table)];
    if (one.rows === other.rows && one.checksum === other.checksum) return { name: table.name, ...one };
    if (attempt === 2)
      throw new Error(
        `table ${table.name} differs after the copy (${one.rows} rows, ${other.rows} copied); ` +
          `stop every gateway on ${from.location}, then repeat the command`,
      );
    await to.transaction([
      { sql: `DELETE FROM ${table.name}` },
      { sql: "DELETE FROM svc_copy WHERE name = ?", params: [table.name] },
    ]);
    await copyTable(from, to, table, progress);
  }
}

async function sumOf(end: End, table: Table): Promise<{ rows: number; checksum: string }> {
  const hash = createHash("sha256");
  const unordered: string[] = [];
  let count = 0;
  for await (const rows of pagesOf(end, table)) {
    count += rows.length;
    for (const row of rows) {
      const values = table.columns.map((column) => spelled(normal(row[column] ?? null, table.integers.has(column))));
      const line = `${JSON.stringify(values)}\n`;
      if (table.key.length === 0) unordered.push(line);
      else hash.update(line);
    }
  }
  for (const line of unordered.toSorted()) hash.update(line);
  return { rows: count, checksum: hash.digest("hex") };
}

async function countOf(end: End, { name }: Table): Promise<number> {
  const [row] = await end.all(`SELECT count(*) AS n FROM ${name}`);
  return Number(row?.["n"] ?? 0);
}

function normal(value: SqlValue, isInteger: boolean): SqlValue {
  if (typeof value === "number" && (isInteger || Object.is(value, -0))) return Math.round(value) + 0;
  return value;
}

/** JSON has no form for these. */
function spelled(value: SqlValue): unknown {
  if (typeof value === "bigint") return { int: String(value) };
  if (value instanceof Uint8Array) return { sha256: createHash("sha256").update(value).digest("hex") };
  return typeof value === "number" && !Number.isFinite(value) ? { real: String(value) } : value;
}

/** A key that was saved by `copyTable`; keys are texts and numbers. */
function keyOf(saved: unknown): SqlValue[] | undefined {
  if (typeof saved !== "string") return undefined;
  return (JSON.parse(saved) as unknown[]).map((value) =>
    typeof value === "object" && value !== null && "int" in value ? BigInt(String(value.int)) : (value as SqlValue),
  );
}
