/** A database file of storage-sqlite as one side of a copy. */
import { DatabaseSync } from "@photostructure/sqlite";
import { checkedSql, MIGRATIONS, narrowIntegers, pendingSteps, toBinding, toStep } from "@svc/kit/sql";
import type { Clock } from "@svc/sdk";
import type { SqlValue } from "@svc/sdk/storage";
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Column, End } from "./end.ts";

const COLUMNS = `SELECT s.name AS "table", c.name, lower(c.type) AS type, c.pk AS "key"
  FROM sqlite_schema s JOIN pragma_table_info(s.name) c
  WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY s.rowid, c.cid`;

/**
 * @param isTarget the file is created: under another name until the copy is complete
 * @throws Error naming the file and the next step
 */
export async function openSqlite(file: string, isTarget: boolean, clock: Pick<Clock, "now">): Promise<End> {
  if (isTarget ? existsSync(file) : !existsSync(file))
    throw new Error(isTarget ? `${file} already exists; move it away` : `there is no database ${file}`);
  if (!isTarget) refuseOpen(file);
  const path = isTarget ? `${file}.copying` : file;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (isTarget) writeFileSync(path, "", { flag: "a", mode: 0o600 });
  const source = pathToFileURL(path);
  source.searchParams.set("immutable", "1"); // creates no files beside it, which a killed copy would leave
  const database = isTarget
    ? new DatabaseSync(path, { timeout: 2_000, defensive: true })
    : new DatabaseSync(source, { readOnly: true, defensive: true });
  if (isTarget)
    database.exec(
      `PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${MIGRATIONS.sqlite}`,
    );

  const prepared = (sql: string) => {
    const statement = database.prepare(sql);
    statement.setReadBigInts(true);
    return statement;
  };
  const all = (sql: string, params: readonly SqlValue[] = []) =>
    (prepared(sql).all(...params.map(toBinding)) as Record<string, SqlValue>[]).map(narrowIntegers);
  const together = (work: () => void) => {
    database.exec("BEGIN IMMEDIATE");
    try {
      work();
      database.exec("COMMIT");
    } catch (error) {
      database.exec("ROLLBACK");
      throw error;
    }
  };

  return {
    location: file,
    isShared: false, // the name of the unfinished file is that of copies alone
    all: async (sql, params) => all(sql, params),
    async transaction(statements) {
      together(() => {
        for (const { sql, params = [] } of statements)
          database.prepare(checkedSql(sql, "sqlite")).run(...params.map(toBinding));
      });
    },
    async migrate(owner, steps) {
      together(() => {
        const applied = all("SELECT hash FROM svc_migrations WHERE owner = ? ORDER BY step", [owner]);
        const hashes = applied.map(({ hash }) => String(hash));
        const wanted = steps.map((step) => toStep(step, "sqlite"));
        for (const [index, { text, hash, json }] of pendingSteps(owner, wanted, hashes).entries()) {
          database.exec(text);
          database
            .prepare("INSERT INTO svc_migrations (owner, step, hash, applied_at, sql) VALUES (?, ?, ?, ?, ?)")
            .run(owner, hashes.length + index + 1, hash, BigInt(clock.now()), json);
        }
      });
    },
    columns: async () => all(COLUMNS) as unknown as Column[], // the selected columns
    async complete() {
      database.exec("PRAGMA journal_mode = DELETE"); // without files beside it
      database.close();
      renameSync(path, file);
      writeFileSync(`${file}.holds-data`, `${basename(file)} holds data.\n`, { mode: 0o600 });
    },
    async close() {
      if (database.isOpen) database.close();
    },
  };
}

/** A file that a gateway uses, or that a crash left, has records outside of its tables. */
function refuseOpen(file: string): void {
  const first = readdirSync(dirname(file)).find(
    (name) => name === `${basename(file)}-wal` || name.startsWith(`${basename(file)}.appended-`),
  );
  if (first === undefined) return;
  throw new Error(
    `${join(dirname(file), first)} exists: a gateway uses the database, or did not close it; stop the gateway (svc gateway stop); ` +
      "after a crash, start it once without SVC_DATABASE_URL, and stop it",
  );
}
