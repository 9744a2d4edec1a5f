import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { Worker } from "node:worker_threads";
import type { Statement } from "@svc/sdk/storage";
import { DatabaseSync } from "@photostructure/sqlite";
import { createStorage, openStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { notesStorage, tempDirectory } from "./temp-directory.ts";

const add = (text: string): Statement => ({ sql: "INSERT INTO notes (text) VALUES (?)", params: [text] });
const texts = "SELECT text FROM notes ORDER BY id";
const busy = (t: TestContext, file: string) => {
  const other = new DatabaseSync(file, { timeout: 0 });
  other.exec("BEGIN IMMEDIATE");
  t.after(() => other.close());
  return other;
};

describe("transactions", () => {
  it("change all or nothing", async (t) => {
    const { storage } = await notesStorage(t);
    await storage.transaction([add("a"), add("b")]);
    await assert.rejects(storage.transaction([add("c"), add("a")]), { name: "GatewayError", code: "CONFLICT" });
    assert.deepEqual(await storage.all(texts), [{ text: "a" }, { text: "b" }]);
  });

  it("answer changes and the rows of RETURNING", async (t) => {
    const { storage } = await notesStorage(t);
    const sql = "INSERT INTO notes (text) VALUES (?), (?) RETURNING text";
    const results = await storage.transaction([add("a"), { sql, params: ["b", "c"], expectChanges: 2 }]);
    assert.deepEqual(results, [
      { changes: 1, rows: [] },
      { changes: 2, rows: [{ text: "b" }, { text: "c" }] },
    ]);
  });

  it("that wait together share commits, and a failing one does not affect the others", async (t) => {
    const { storage, stats } = await notesStorage(t);
    const before = stats().commits;
    const sent = Array.from({ length: 200 }, (_, n) => storage.transaction([add(n === 100 ? "99" : String(n))]));
    const settled = await Promise.allSettled(sent);
    assert.deepEqual(
      settled.flatMap(({ status }, n) => (status === "rejected" ? [n] : [])),
      [100],
    );
    assert.equal((await storage.all(texts)).length, 199);
    assert.ok(stats().commits - before <= 20, `${stats().commits - before} commits`);
  });

  it("are seen by a read that is sent after them", async (t) => {
    const { storage } = await notesStorage(t);
    for (let n = 1; n <= 50; n += 1) {
      await storage.transaction([add(String(n))]);
      assert.deepEqual(await storage.get("SELECT count(*) AS count FROM notes"), { count: n });
    }
  });

  it("refuse wrong SQL with a plain error that shows it", async (t) => {
    const { storage } = await notesStorage(t);
    await assert.rejects(storage.transaction([{ sql: "INSERT INTO nowhere VALUES (1)" }]), {
      name: "Error",
      message: "no such table: nowhere in: INSERT INTO nowhere VALUES (1)",
    });
  });

  it("wait for another program no longer than asked, then give UNAVAILABLE; reads go on", async (t) => {
    const { storage, file } = await notesStorage(t);
    const other = busy(t, file);
    await assert.rejects(storage.transaction([add("a")]), { code: "UNAVAILABLE", retryAfterMs: 1_000 });
    await assert.rejects(storage.migrate("p", ["CREATE TABLE p (id)"]), { code: "UNAVAILABLE", retryAfterMs: 1_000 });
    assert.deepEqual(await storage.all(texts), []);
    other.exec("ROLLBACK");
    await storage.transaction([add("a")]);
    assert.deepEqual(await storage.all(texts), [{ text: "a" }]);
  });
});

describe("reads", () => {
  it("cannot write, and cannot hold a transaction open", async (t) => {
    const { storage } = await notesStorage(t);
    const message = /all and get only read; use transaction/;
    await assert.rejects(storage.get("INSERT INTO notes (text) VALUES ('a') RETURNING id"), message);
    await assert.rejects(storage.all("DELETE FROM notes"), message);
    await assert.rejects(storage.all("BEGIN"), /BEGIN is not allowed/);
    assert.deepEqual(await storage.all(texts), []);
  });

  it("go on with more different statements than are kept prepared", async (t) => {
    const { storage } = await notesStorage(t);
    for (let n = 0; n < 600; n += 1) assert.deepEqual(await storage.get(`SELECT ${n} AS n`), { n });
  });

  it("that many callers wait for leave the event loop its turns, whatever each caller does with its rows", async (t) => {
    const { storage } = await notesStorage(t);
    let turns = 0;
    let counting = setImmediate(function count() {
      turns += 1;
      counting = setImmediate(count);
    });
    t.after(() => clearImmediate(counting));
    const dear = async () => {
      await storage.all(texts);
      await Promise.resolve();
      for (const end = performance.now() + 6; performance.now() < end;);
      return turns;
    };
    const seen = await Promise.all(Array.from({ length: 60 }, dear));
    assert.ok(new Set(seen).size >= 20, `${new Set(seen).size} turns for ${seen.length} callers`);
  });

  it("that wait are overtaken by a write", async (t) => {
    const { storage } = await notesStorage(t);
    const reads = Array.from({ length: 1_000 }, () => storage.all(texts));
    await storage.transaction([add("a")]);
    const before = (await Promise.all(reads)).filter((rows) => rows.length === 0);
    assert.ok(before.length < reads.length, "every read came before the write"); // in their order, all would
  });

  it("that wait are answered before the file closes", async (t) => {
    const { storage, close } = await notesStorage(t);
    const reads = Array.from({ length: 200 }, (_, n) => storage.get(`SELECT ${n} AS n`));
    await Promise.resolve();
    await close();
    assert.equal((await Promise.all(reads)).length, 200);
  });
});

describe("opening and closing", () => {
  it("refuses calls before open and after close, and opens again", async (t) => {
    const { storage, open, close } = createStorage();
    const refusal = { code: "UNAVAILABLE", message: "storage is not open" };
    await assert.rejects(storage.get("SELECT 1"), refusal);
    assert.equal(storage.location, "");
    const file = join(tempDirectory(t), "svc.db");
    await open({ file });
    assert.deepEqual(await storage.get("SELECT 1 AS one"), { one: 1 });
    assert.equal(storage.location, file);
    await close();
    await assert.rejects(storage.transaction([]), refusal);
    await close();
    await open({ file });
    t.after(close);
    assert.equal(await storage.get("SELECT 1 WHERE 0"), undefined);
    assert.deepEqual(await storage.transaction([]), []);
  });

  it("finishes what was accepted before close, and leaves one file", async (t) => {
    const { storage, close, file } = await notesStorage(t);
    const sent = Array.from({ length: 600 }, (_, n) => storage.transaction([add(String(n))]));
    await Promise.all([close(), close(), ...sent]);
    assert.equal(existsSync(`${file}-wal`), false);
    const again = await openStorage({ file });
    t.after(again.close);
    assert.equal((await again.storage.all(texts)).length, 600);
  });

  it("makes private files and directories, and makes an open file private", async (t) => {
    const directory = join(tempDirectory(t), "a", "b");
    const file = join(directory, "svc.db");
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(file, "");
    chmodSync(file, 0o644);
    const { storage, close } = await openStorage({ file });
    t.after(close);
    await storage.migrate("p", ["CREATE TABLE p (id INTEGER)"]);
    for (const path of [file, `${file}-wal`, `${file}-shm`]) assert.equal(statSync(path).mode & 0o777, 0o600, path);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
  });

  const diary = (file: string) => writeFileSync(file, "dear diary, ".repeat(100));
  const unusable: [why: string, prepare: (file: string) => void, message: RegExp][] = [
    ["a file of another kind", diary, /not an SQLite database; move it/],
    ["a directory", (file) => mkdirSync(file), /svc\.db/],
    ["a database that lost its end", cutDatabase, /damaged or not an SQLite database; restore a backup/],
  ];
  for (const [why, prepare, message] of unusable) {
    it(`refuses ${why}, names the file and leaves it as it is`, async (t) => {
      const file = join(tempDirectory(t), "svc.db");
      prepare(file);
      const before = statSync(file).isFile() ? readFileSync(file) : undefined;
      await assert.rejects(openStorage({ file }), (error: Error) => {
        assert.match(error.message, message);
        return error.message.includes(file);
      });
      if (before !== undefined) assert.deepEqual(readFileSync(file), before);
    });
  }

  const restore = /held data and is now empty; restore a backup of it, or delete .*svc\.db\.holds-data /;
  const losses: [what: string, lose: (file: string) => void, message: RegExp][] = [
    ["emptied", (file) => truncateSync(file, 0), restore],
    ["removed", (file) => rmSync(file), /held data and is now missing; /],
    ["emptied before its log was read", emptyWithLog, /is now empty; /],
  ];
  for (const [what, lose, message] of losses) {
    it(`refuses a file that held data and was ${what}, until its mark is deleted`, async (t) => {
      const file = join(tempDirectory(t), "svc.db");
      const first = await openStorage({ file });
      await first.storage.migrate("p", ["CREATE TABLE p (id INTEGER)"]);
      await first.close();
      assert.equal(statSync(`${file}.holds-data`).mode & 0o777, 0o600);
      lose(file);
      const left = readdirSync(dirname(file));
      await assert.rejects(openStorage({ file }), { message });
      assert.deepEqual(readdirSync(dirname(file)), left);
      rmSync(`${file}.holds-data`);
      const again = await openStorage({ file });
      t.after(again.close);
      await assert.rejects(again.storage.all("SELECT * FROM p"), /no such table/);
    });
  }

  it("can be opened after a refused open", async (t) => {
    const directory = tempDirectory(t);
    diary(join(directory, "foreign"));
    const { storage, open, close, stats } = createStorage();
    await assert.rejects(open({ file: join(directory, "foreign") }));
    await open({ file: join(directory, "svc.db") });
    t.after(close);
    assert.deepEqual(await storage.get("SELECT 1 AS one"), { one: 1 });
    assert.equal(stats().deaths, 0);
  });

  it("marks an older database that holds data, and none that holds nothing", async (t) => {
    const file = join(tempDirectory(t), "svc.db");
    const { close } = await openStorage({ file });
    await close();
    assert.equal(existsSync(`${file}.holds-data`), false);
    const older = new DatabaseSync(file);
    older.exec("CREATE TABLE p (id INTEGER)");
    older.close();
    await (await openStorage({ file })).close();
    assert.equal(existsSync(`${file}.holds-data`), true);
  });
});

function emptyWithLog(file: string): void {
  truncateSync(file, 0);
  writeFileSync(`${file}-wal`, "a log");
}

/** A database without its schema page, as after an interrupted copy. */
function cutDatabase(file: string): void {
  const database = new DatabaseSync(file);
  for (let n = 0; n < 60; n += 1)
    database.exec(`CREATE TABLE table_with_a_long_name_${n} (id INTEGER PRIMARY KEY, text)`);
  database.close();
  truncateSync(file, 4_096);
}

/** An open storage, its threads, and a clock controlled by the test. */
async function mortal(t: TestContext) {
  const threads: Worker[] = [];
  let now = 0;
  const clock = { now: () => now, elapsed: () => now, setTimeout: () => () => {} };
  const startThread = (workerData: unknown) => {
    const url = new URL("../../../plugins/storage-sqlite/worker.js", import.meta.url);
    const thread = new Worker(url, { workerData });
    threads.push(thread);
    return thread;
  };
  const opened = await notesStorage(t, { clock, startThread });
  const kill = async () => void (await threads.at(-1)?.terminate());
  return { ...opened, threads, kill, pass: (ms: number) => (now += ms) };
}

describe("a database thread that dies", () => {
  it("is started again by the next call, with everything that was acknowledged", async (t) => {
    const { storage, kill, stats } = await mortal(t);
    await storage.transaction([add("a")]);
    await kill();
    assert.deepEqual(await storage.all(texts), [{ text: "a" }]);
    await storage.transaction([add("b")]);
    assert.equal(stats().deaths, 1);
  });

  it("refuses what was waiting, and says that the outcome of a write is unknown", async (t) => {
    const { storage, kill } = await mortal(t);
    const write = storage.transaction([add("a")]);
    const read = storage.get("SELECT 1");
    const expected = Promise.all([
      assert.rejects(write, { code: "UNAVAILABLE", retryAfterMs: undefined, details: { outcome: "unknown" } }),
      assert.rejects(read, { code: "UNAVAILABLE", retryAfterMs: 1_000 }),
    ]);
    void kill(); // before the thread has seen either
    await expected;
  });

  it("is left alone after five deaths within a minute, with the wait, and tried again after", async (t) => {
    const { storage, kill, pass, threads } = await mortal(t);
    for (let death = 0; death < 5; death += 1) {
      await storage.get("SELECT 1");
      await kill();
      pass(1_000);
    }
    await assert.rejects(storage.get("SELECT 1"), { code: "UNAVAILABLE", retryAfterMs: 55_000 });
    assert.equal(threads.length, 5);
    pass(55_000);
    assert.deepEqual(await storage.get("SELECT 1 AS one"), { one: 1 });
  });

  it("reports the reason if the file cannot be opened any more", async (t) => {
    const { storage, kill, file } = await mortal(t);
    await kill();
    writeFileSync(file, "dear diary, ".repeat(100));
    await assert.rejects(storage.transaction([add("a")]), (error: Error & { retryAfterMs?: number }) => {
      assert.equal(error.retryAfterMs, 1_000);
      assert.equal(error.message.includes(file), false, "a client sees no path");
      return error.cause instanceof Error && error.cause.message.includes("not an SQLite database");
    });
  });

  it("does not keep close waiting", async (t) => {
    const { storage, kill, close } = await mortal(t);
    await kill();
    await close();
    await assert.rejects(storage.get("SELECT 1"), { message: "storage is not open" });
  });
});
