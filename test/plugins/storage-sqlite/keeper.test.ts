/** Deleting expired data by rules, and returning free pages to the disk. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { checkedSql } from "@svc/kit/sql";
import type { Clock, Contribution, ExtensionView } from "@svc/sdk";
import type { Retention, Storage } from "@svc/sdk/storage";
import { createFakeClock } from "@svc/sdk/testing";
import { DatabaseSync } from "@photostructure/sqlite";
import { createKeeper } from "@svc/kit/storage";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { measureTables } from "../../../plugins/storage-sqlite/usage-thread.ts";
import { rewrite } from "../../../plugins/storage-sqlite/vacuum.ts";
import { tempDirectory } from "./temp-directory.ts";

const NOTE = { tables: ["notes"], holds: "notes", rule: "a rule" };
const NOTES = { table: "notes", key: ["id", "at"], at: "at" };

async function scene(t: TestContext, retentions: Readonly<Record<string, Retention>>, file?: string) {
  const directory = tempDirectory(t);
  const { storage: real, space, close } = await openStorage({ file: file ?? join(directory, "svc.db") });
  /** Requests that the database thread received. */
  const reads: string[] = [];
  const storage: Storage = {
    ...real,
    get: (sql, params) => (reads.push(checkedSql(sql, "sqlite")), real.get(sql, params)),
    all: (sql, params) => (reads.push(checkedSql(sql, "sqlite")), real.all(sql, params)),
  };
  t.after(close);
  await storage.migrate("notes", [
    "CREATE TABLE IF NOT EXISTS notes (id BIGINT, at BIGINT, kind TEXT, text TEXT, PRIMARY KEY (id, at))",
  ]);
  const fake = createFakeClock();
  const logged: object[] = [];
  const note = (fields: object, message: string) => void logged.push({ ...fields, message });
  const list: Contribution<Retention>[] = Object.entries(retentions).map(([id, value]) => ({ id, plugin: "p", value }));
  const view: ExtensionView<Retention> = {
    list: () => list,
    get: () => undefined,
    call: (one, work) => work(one.value),
  };
  // Pauses end at once.
  const clock: Clock = { ...fake, now: () => 1_000, setTimeout: (work) => (setImmediate(work), () => {}) } as Clock;
  const signal = new AbortController().signal;
  const keeper = createKeeper({
    storage,
    space,
    tables: (stop) => measureTables(storage.location, stop),
    view,
    fence: async () => ({ sql: "1 = 1", params: [] }),
    clock,
    signal,
    stateDir: () => directory,
    log: { info: note, warn: note },
  });
  const write = (count: number, at: number, kind = "x", text = "") =>
    storage.transaction([
      {
        sql: `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
          INSERT INTO notes SELECT i + (SELECT count(*) FROM notes), ?, ?, ? || i FROM n`,
        params: [count, at, kind, text],
      },
    ]);
  const left = async () =>
    (await storage.all("SELECT at, kind, count(*) AS n FROM notes GROUP BY at, kind ORDER BY at, kind")).map((row) =>
      Object.values(row).join(" "),
    );
  return { directory, storage, space, keeper, write, left, logged, clock, reads };
}

describe("cleaning", () => {
  const rows: [rule: object, expired: number, left: string[]][] = [
    [{ olderThanMs: 500 }, 1_402, ["501 x 3", "1000 x 5"]],
    [{ olderThanMs: 0 }, 1_410, []],
    [{ most: 4 }, 1_406, ["1000 x 4"]],
    [{ most: 6, olderThanMs: 500 }, 1_404, ["501 x 1", "1000 x 5"]],
    [{ olderThanMs: 500, only: "kind = 'y'" }, 2, ["400 x 1400", "501 x 3", "1000 x 5"]],
  ];
  for (const [rule, expired, rest] of rows) {
    it(`by ${JSON.stringify(rule)} takes what has expired, however much, and a dry run counts it`, async (t) => {
      const { keeper, write, left, logged } = await scene(t, { notes: { ...NOTE, rows: [{ ...NOTES, ...rule }] } });
      await write(1_400, 400);
      await write(2, 500, "y");
      await write(3, 501);
      await write(5, 1_000);
      const before = await left();
      assert.deepEqual(await keeper.clean(true), [{ id: "notes", deleted: expired }]);
      assert.deepEqual([await left(), logged], [before, []]);
      assert.deepEqual(await keeper.clean(false), [{ id: "notes", deleted: expired }]);
      assert.deepEqual(await left(), rest);
      assert.deepEqual(logged, [{ notes: expired, message: "deleted expired data" }]);
      await keeper.clean(false);
      assert.equal(logged.length, 1, "nothing went, nothing is logged");
    });
  }

  it("continues after a rule that fails, and skips tables that do not exist yet", async (t) => {
    const { keeper, write, left, logged } = await scene(t, {
      wrong: { ...NOTE, rows: [{ ...NOTES, at: "nothing", olderThanMs: 0 }] },
      later: { ...NOTE, rows: [{ ...NOTES, table: "later", olderThanMs: 0 }] },
      broken: { ...NOTE, clean: () => Promise.reject(new Error("no")) },
      notes: { ...NOTE, rows: [{ ...NOTES, olderThanMs: 0 }] },
    });
    await write(3, 1);
    await keeper.clean(false);
    assert.deepEqual(await left(), []);
    assert.deepEqual(
      logged.map((line) => (line as { id?: string }).id),
      ["wrong", "broken", undefined],
    );
  });

  it("gives the room back to the disk", async (t) => {
    const { keeper, space, write } = await scene(t, { notes: { ...NOTE, rows: [{ ...NOTES, olderThanMs: 0 }] } });
    await write(3_000, 1, "x", "x".repeat(4_000));
    const full = await space("read");
    await keeper.clean(false);
    const { bytes, freeBytes, givesBack } = await space("read");
    assert.ok(givesBack && full.bytes > 12_000_000 && bytes < 6_000_000 && freeBytes <= 4 * 1_048_576, String(bytes));
  });
});

describe("a vacuum", () => {
  it("shrinks a database that was made without giving back, and lets it give back from then on", async (t) => {
    const file = join(tempDirectory(t), "old.db");
    const old = new DatabaseSync(file);
    old.exec("CREATE TABLE blobs (x); INSERT INTO blobs VALUES (randomblob(5000000)); DELETE FROM blobs");
    old.close();
    const { storage, space, clock, keeper } = await scene(t, {}, file);
    await keeper.clean(false);
    assert.equal((await space("read")).givesBack, false);
    const { before, after } = await rewrite({ storage, space, clock });
    assert.ok(before > 5_000_000 && after < 100_000, `${before} ${after}`);
    assert.equal((await space("read")).givesBack, true);
    assert.deepEqual(await storage.all("SELECT * FROM blobs"), []);
  });
});

it("usage counts tables with their indexes, files below a directory or with a beginning, and tables of nobody", async (t) => {
  const { keeper, storage, write, directory, reads } = await scene(t, {
    notes: { ...NOTE, files: ["trash", "logs/a.jsonl*", "none"] },
  });
  await write(100, 1, "x", "x".repeat(1_000));
  await storage.migrate("other", [
    "CREATE TABLE other (x)",
    "CREATE TABLE keyed (x TEXT PRIMARY KEY) WITHOUT ROWID",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO keyed SELECT 'key ' || i FROM n",
  ]);
  for (const name of ["trash/ada", "logs"]) mkdirSync(join(directory, name), { recursive: true });
  for (const name of ["trash/ada/x", "logs/a.jsonl", "logs/a.jsonl.1", "logs/b"])
    writeFileSync(join(directory, name), "12345");
  reads.length = 0;
  const [{ items, bytes, location }, same] = await Promise.all([keeper.usage(), keeper.usage()]);
  assert.deepEqual(reads, [], "the database thread serves others meanwhile");
  assert.deepEqual(same.items, items);
  assert.equal(location, storage.location);
  const [notes, ...others] = items;
  assert.deepEqual([notes?.id, notes?.plugin, notes?.rows], ["notes", "p", 103]);
  assert.ok((notes?.bytes ?? 0) > 100_000 && (notes?.bytes ?? 0) < bytes);
  assert.deepEqual(
    others.map(({ id, plugin, rows }) => [id, plugin, rows]),
    [
      ["keyed", undefined, 3_000],
      ["svc_migrations", undefined, 4],
      ["other", undefined, 0],
    ],
  );
});
