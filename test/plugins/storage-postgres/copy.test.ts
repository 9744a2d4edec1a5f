/** `svc storage copy`: between a database file and PostgreSQL, interrupted, repeated, verified, and back. */
// own process: it runs commands
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import type { Storage } from "@svc/sdk/storage";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { root } from "../../checkout.ts";
import { cleanEnvironment } from "../../gateway-process.ts";
import { emptySchema } from "../../postgres.ts";
import { svc } from "../../run-svc.ts";
import { until } from "../../until.ts";
import { openPostgres, withoutPostgres } from "./open-postgres.ts";

const ROWS = 3_000;
const STEPS = [
  "CREATE TABLE things (kind TEXT NOT NULL, id BIGINT NOT NULL, text TEXT, price REAL, data BLOB, PRIMARY KEY (kind, id))",
  "CREATE TABLE counted (kind TEXT PRIMARY KEY, n INTEGER NOT NULL)",
  "CREATE TABLE marks (at INTEGER, text TEXT)", // without a key
  {
    sqlite:
      "CREATE TRIGGER counting AFTER INSERT ON things BEGIN INSERT INTO counted VALUES (new.kind, 1) ON CONFLICT (kind) DO NOTHING; END",
    postgres: `CREATE FUNCTION counting() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO counted VALUES (new.kind, 1) ON CONFLICT DO NOTHING; RETURN NULL; END $$;
      CREATE TRIGGER counting AFTER INSERT ON things FOR EACH ROW EXECUTE FUNCTION counting()`,
  },
];

async function stateOf(t: TestContext) {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-copy-"));
  t.after(() => rm(stateDir, { recursive: true, force: true }));
  writeFileSync(join(stateDir, "svc.json"), "{}");
  return { stateDir, file: join(stateDir, "plugins/storage-sqlite/svc.db") };
}

/** A database file with rows of every kind, closed. */
async function filled(t: TestContext, rows = ROWS) {
  const state = await stateOf(t);
  const { storage, close } = await openStorage({ file: state.file });
  await storage.migrate("things", STEPS);
  await storage.transaction([
    {
      sql: `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO things SELECT CASE i % 3 WHEN 0 THEN 'ä' WHEN 1 THEN 'Z' ELSE 'a' END, i * 9007199254741, 'text ' || i || ' 🎉', i / 7.0,
          CASE i % 5 WHEN 0 THEN randomblob(50) END FROM n`,
      params: [rows],
    },
    { sql: "UPDATE counted SET n = 7" },
    { sql: "INSERT INTO marks VALUES (3, NULL), (NULL, 'b'), (3, NULL), (1, 'a')" },
    { sql: "INSERT INTO things (kind, id, text) VALUES ('odd', 1.6, NULL)" }, // SQLite accepts a fraction there
  ]);
  await close();
  return state;
}

const picture = async (storage: Pick<Storage, "all">) => [
  (await storage.all("SELECT * FROM counted ORDER BY kind")).map(Object.values),
  await storage
    .all("SELECT count(*) AS n, max(id) AS last FROM things WHERE kind <> 'odd'")
    .then((rows) => rows.map(Object.values)),
];

describe("svc storage copy", { skip: withoutPostgres() }, () => {
  it("copies a file to an empty schema and back; both have the same rows", async (t) => {
    const { stateDir, file } = await filled(t);
    const url = await emptySchema();
    const env = { DB: url };
    const there = await svc(stateDir, ["storage", "copy", "--to", "DB", "--json"], env);
    assert.equal(there.code, 0, there.text);
    const { tables } = JSON.parse(there.stdout) as { tables: { name: string; rows: number; checksum: string }[] };
    assert.deepEqual(
      tables.map(({ name, rows }) => [name, rows]),
      [
        ["things", ROWS + 1],
        ["counted", 4],
        ["marks", 4],
      ],
    );
    const { storage } = await openPostgres(t, url);
    await storage.migrate("things", STEPS); // the steps are known
    assert.deepEqual(await storage.get("SELECT id FROM things WHERE kind = 'odd'"), { id: 2 });
    const original = await openStorage({ file });
    assert.deepEqual(await picture(storage), await picture(original.storage));
    await original.close();

    await rename(join(stateDir, "plugins/storage-sqlite"), join(stateDir, "before"));
    const back = await svc(stateDir, ["storage", "copy", "--from", "DB", "--json"], env);
    assert.equal(back.code, 0, back.text);
    assert.deepEqual((JSON.parse(back.stdout) as { tables: unknown }).tables, tables);
    const returned = await openStorage({ file });
    await returned.storage.migrate("things", STEPS);
    assert.deepEqual(await picture(returned.storage), await picture(storage));
    await returned.close();

    // As after kill -9 in the last moment: the copy is complete, and has not its name yet.
    await rename(file, `${file}.copying`);
    const again = await svc(stateDir, ["storage", "copy", "--from", "DB", "--json"], env);
    assert.equal(again.code, 0, again.text);
    assert.deepEqual((JSON.parse(again.stdout) as { tables: unknown }).tables, tables);
  });

  it("continues after kill -9, and no gateway starts with half of a state", async (t) => {
    const { stateDir, file } = await filled(t, 60_000);
    const url = await emptySchema();
    const child = spawn(process.execPath, [join(root, "host/cli/svc.js"), "storage", "copy", "--to", "DB"], {
      env: cleanEnvironment(stateDir, { DB: url }),
      stdio: "ignore",
    });
    const watch = await openPostgres(t, await emptySchema());
    const schema = new URL(url).searchParams.get("schema");
    const done = () =>
      watch.storage.get<{ done: number }>(`SELECT done FROM ${schema}.svc_copy WHERE name = 'things'`).then(
        (row) => row?.done ?? 0,
        () => 0,
      );
    await until(async () => (await done()) > 5_000);
    child.kill("SIGKILL");
    await once(child, "exit");
    const before = await done();
    assert.ok(before < 60_000, "it was not over");
    await assert.rejects(openPostgres(t, url), /holds an unfinished copy; repeat the command svc storage copy/);
    const again = await svc(stateDir, ["storage", "copy", "--to", "DB"], { DB: url });
    assert.equal(again.code, 0, again.text);
    assert.match(again.stderr, /things: 60001 of 60001 rows/);
    assert.match(again.stdout, /counts and checksums are equal/);
    const { storage } = await openPostgres(t, url);
    const original = await openStorage({ file });
    assert.deepEqual(await picture(storage), await picture(original.storage));
    await original.close();
  });

  it("repairs a table that was changed meanwhile", async (t) => {
    const { stateDir } = await filled(t);
    const url = await emptySchema();
    // As after an interruption: the first rows are there, and then one of them was changed.
    const halfway = await svc(stateDir, ["storage", "copy", "--to", "DB"], { DB: url });
    assert.equal(halfway.code, 0, halfway.text);
    const { storage, close } = await openPostgres(t, url);
    await storage.transaction([
      { sql: "UPDATE things SET text = 'another' WHERE kind = 'odd'" },
      { sql: "CREATE TABLE svc_copy (name TEXT PRIMARY KEY, done BIGINT NOT NULL, last TEXT)" },
      { sql: "INSERT INTO svc_copy VALUES ('things', 3001, '[\"ä\",27021597764223000]'), ('counted', 4, '[\"ä\"]')" },
    ]);
    await close();
    const again = await svc(stateDir, ["storage", "copy", "--to", "DB"], { DB: url });
    assert.equal(again.code, 0, again.text);
    const after = await openPostgres(t, url);
    assert.deepEqual(await after.storage.get("SELECT text FROM things WHERE kind = 'odd'"), { text: null });
  });

  it("refuses what it would damage or cannot copy, with the next step", async (t) => {
    const { stateDir, file } = await filled(t, 10);
    const url = await emptySchema();
    const copy = (...words: string[]) => svc(stateDir, ["storage", "copy", ...words], { DB: url });
    assert.match((await copy()).text, /name one place: --to <address> or --from <address>/);
    assert.match((await copy("--from", "DB")).text, /svc\.db already exists; move it away/);
    const other = await openPostgres(t, url);
    await other.storage.migrate("p", ["CREATE TABLE a (id BIGINT PRIMARY KEY)"]);
    assert.match(
      (await copy("--to", "DB")).text,
      /already holds a state; choose an empty place, e\.g\. another schema: \?schema=<name>/,
    );
    const open = await openStorage({ file });
    assert.match((await copy("--to", "DB")).text, /svc\.db-wal exists: a gateway uses the database.*svc gateway stop/);
    await open.close();
    assert.equal(existsSync(`${file}-wal`), false);

    const empty = await emptySchema();
    const to = (...words: string[]) => svc(stateDir, ["storage", "copy", "--to", "DB", ...words], { DB: empty });
    const raw = new DatabaseSync(file);
    raw.exec("UPDATE svc_migrations SET sql = NULL");
    raw.close();
    assert.match(
      (await to()).text,
      /the tables of plugin things were created by an older version; start this version .* or leave its tables out: --without things/,
    );
    const left = await to("--without", "things");
    assert.equal(left.code, 0, left.text);
    assert.match(left.stdout, /Copied 0 rows of 0 tables/);
  });
});
