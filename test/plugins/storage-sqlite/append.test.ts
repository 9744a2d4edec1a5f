import assert from "node:assert/strict";
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { Worker } from "node:worker_threads";
import type { Statement, Storage } from "@svc/sdk/storage";
import { appendFile, appendFiles } from "../../../plugins/storage-sqlite/append-file.ts";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { notesStorage, tempDirectory } from "./temp-directory.ts";

const add = (text: string): Statement => ({ sql: "INSERT INTO notes (text) VALUES (?)", params: [text] });
const STEPS = ["CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE)", "CREATE TABLE other (value)"];
const texts = async (storage: Storage) =>
  (await storage.all<{ text: string }>("SELECT text FROM notes ORDER BY id")).map(({ text }) => text);

/** A clock that never looks whether the transactions can run. */
const still = { now: () => 0, elapsed: () => 0, setTimeout: () => () => {} };

/** A storage whose appended transactions run only when a call needs them, and that can crash. */
async function unhurried(t: TestContext, file = join(tempDirectory(t), "svc.db")) {
  let thread: Worker | undefined;
  const errors: unknown[] = [];
  const startThread = (workerData: unknown) =>
    (thread = new Worker(new URL("../../../plugins/storage-sqlite/worker.js", import.meta.url), { workerData }));
  const log = { error: (...args: unknown[]) => void errors.push(args), warn: () => {} };
  const opened = await openStorage({ file, clock: still, startThread, log: log as never });
  t.after(opened.close);
  await opened.storage.migrate("notes", STEPS);
  return { file, errors, ...opened, kill: async () => void (await thread?.terminate()) };
}

/** What a crash would leave: a copy of the files at this moment. */
function crashed(t: TestContext, file: string): string {
  const copy = join(tempDirectory(t), basename(file));
  for (const name of readdirSync(dirname(file)))
    if (name.startsWith(basename(file)))
      writeFileSync(join(dirname(copy), name), readFileSync(join(dirname(file), name)));
  return copy;
}

describe("append", () => {
  it("is seen by every later call, in the order of the calls", async (t) => {
    const { storage } = await unhurried(t);
    await storage.append([add("a"), add("b")]);
    assert.deepEqual(await texts(storage), ["a", "b"]);
    await storage.append([add("c")]);
    const [{ changes } = { changes: -1 }] = await storage.transaction([
      { sql: "UPDATE notes SET text = 'd' WHERE text = ?", params: ["c"] },
    ]);
    assert.equal(changes, 1);
    await Promise.all([storage.append([add("e")]), storage.append([add("f")])]);
    assert.deepEqual(await storage.get("SELECT count(*) AS n FROM notes"), { n: 5 });
    await storage.migrate("notes", [...STEPS, "ALTER TABLE notes RENAME TO remarks"]);
    assert.equal((await storage.all("SELECT * FROM remarks")).length, 5);
  });

  it("does not wait for calls that name other tables", async (t) => {
    const { file, storage } = await unhurried(t);
    await storage.append([add("a")]);
    await storage.transaction([{ sql: "INSERT INTO other VALUES (1)" }]);
    const { storage: former, close } = await openStorage({ file: crashed(t, file), clock: still });
    t.after(close);
    assert.deepEqual(await texts(former), ["a"]); // ran at its start
    assert.match(readFileSync(appendFile(file, 1), "utf8"), /INSERT INTO notes/);
    assert.deepEqual(await texts(storage), ["a"]);
  });

  it("runs by itself when there is time", async (t) => {
    const { file, storage, stats } = await notesStorage(t);
    const before = stats().commits;
    await storage.append([add("a")]);
    for (let tries = 0; stats().commits === before && tries < 1_000; tries++) await storage.get("SELECT 1");
    assert.ok(stats().commits > before);
    assert.equal(existsSync(appendFile(file, 1)), true);
  });

  it("keeps every kind of value", async (t) => {
    const { storage } = await unhurried(t);
    const values = [1, -1.5, 1_700_000_000_000, 2n ** 60n, null, "ü😀\n\ud800", new Uint8Array([0, 255]), Infinity, ""];
    for (const value of values) {
      const row: Statement = { sql: "INSERT INTO other VALUES (?)", params: [value] };
      await storage.append([row]);
      await storage.transaction([row]);
    }
    const rows = await storage.all<{ value: unknown }>("SELECT value FROM other");
    assert.equal(rows.length, 2 * values.length);
    for (let n = 0; n < rows.length; n += 2) assert.deepEqual(rows[n], rows[n + 1]);
  });

  it("runs each transaction once after a crash, whole, also when it crashes again", async (t) => {
    const { file, storage } = await unhurried(t);
    await storage.append([add("a")]);
    await storage.all("SELECT * FROM notes"); // runs it
    await Promise.all(["b", "c", "d"].map((text) => storage.append([add(text), add(`${text}2`)])));
    let copy = crashed(t, file);
    for (let round = 0; round < 3; round++) {
      const again = await openStorage({ file: copy, clock: still });
      assert.deepEqual(await texts(again.storage), ["a", "b", "b2", "c", "c2", "d", "d2"]);
      copy = crashed(t, copy);
      await again.close();
    }
  });

  it("ignores a line that was not written completely, and continues after it", async (t) => {
    for (const cut of [1, 5, 20]) {
      const { file, storage } = await unhurried(t);
      await storage.append([add("a")]);
      await storage.append([add("b")]);
      const copy = crashed(t, file);
      const bytes = readFileSync(appendFile(copy, 1));
      writeFileSync(appendFile(copy, 1), bytes.subarray(0, bytes.length - cut));
      const again = await openStorage({ file: copy, clock: still });
      assert.deepEqual(await texts(again.storage), ["a"]);
      await again.storage.append([add("c")]);
      const last = crashed(t, copy);
      await again.close();
      const { storage: third, close } = await openStorage({ file: last, clock: still });
      assert.deepEqual(await texts(third), ["a", "c"]);
      await close();
    }
  });

  it("ignores damage and what follows it in the file", async (t) => {
    const { file, storage } = await unhurried(t);
    await storage.append([add("a")]);
    const copy = crashed(t, file);
    appendFileSync(appendFile(copy, 1), `00000000 ["DROP TABLE notes",[[2,[]]]]\nno line\n`);
    const errors: unknown[] = [];
    const log = { error: (...args: unknown[]) => void errors.push(args), warn: () => {} };
    const { storage: again, close } = await openStorage({ file: copy, clock: still, log: log as never });
    t.after(close);
    assert.deepEqual(await texts(again), ["a"]);
    assert.match(JSON.stringify(errors), /appended-1 is damaged/);
  });

  it("is the right of one gateway at a time; another on the same database commits at once", async (t) => {
    const { file, storage, close } = await unhurried(t);
    await storage.append([add("a")]);
    const other = await openStorage({ file, clock: still });
    t.after(other.close);
    assert.deepEqual(await texts(other.storage), []);
    await other.storage.append([add("b")]);
    assert.deepEqual(appendFiles(file), [1]);
    await storage.append([add("c")]);
    assert.deepEqual(await texts(storage), ["b", "a", "c"]);
    assert.deepEqual(await texts(other.storage), ["b", "a", "c"]);
    await close();
    const { storage: third, close: closeThird } = await openStorage({ file, clock: still });
    t.after(closeThird);
    await third.append([add("d")]);
    assert.deepEqual(appendFiles(file), [2]);
  });

  it("survives the end of the database thread", async (t) => {
    const { storage, kill } = await unhurried(t);
    await storage.append([add("a")]);
    await kill();
    await storage.append([add("b")]);
    assert.deepEqual(await texts(storage), ["a", "b"]);
    await storage.append([add("c")]);
    assert.deepEqual(await texts(storage), ["a", "b", "c"]);
  });

  it("drops a transaction that its tables refuse, alone, and logs it", async (t) => {
    const { storage, errors } = await unhurried(t);
    await storage.append([add("a")]);
    await Promise.all([
      storage.append([add("b"), add("a")]),
      storage.append([{ sql: "INSERT INTO nothing VALUES (1)" }]),
      storage.append([add("c")]),
    ]);
    assert.deepEqual(await texts(storage), ["a", "c"]);
    assert.equal(errors.length, 2);
  });

  it("leaves no file behind after a stop, and uses new numbers after the next start", async (t) => {
    const { file, storage, close } = await unhurried(t);
    await storage.append([add("a")]);
    await close();
    assert.deepEqual(appendFiles(file), []);
    await assert.rejects(storage.append([add("b")]), { code: "UNAVAILABLE" });
    const again = await openStorage({ file, clock: still });
    await again.storage.append([add("c")]);
    assert.deepEqual(appendFiles(file), [2]);
    assert.deepEqual(await texts(again.storage), ["a", "c"]);
    await again.close();
  });

  it("refuses what only `transaction` can do", async (t) => {
    const { storage } = await unhurried(t);
    await assert.rejects(storage.append([{ ...add("a"), expectChanges: 1 }]), /expectChanges/);
    await assert.rejects(storage.append([add("a\0b")]), { code: "INVALID_REQUEST" });
    assert.deepEqual(await texts(storage), []);
  });

  it("bounds what waits to run, and the size of a file", async (t) => {
    const { file, storage } = await unhurried(t);
    const text = "x".repeat(400_000);
    for (let n = 0; n < 100; n++) await storage.append([{ sql: "INSERT INTO other VALUES (?)", params: [text] }]);
    assert.ok(appendFiles(file).length <= 2, String(appendFiles(file)));
    assert.deepEqual(await storage.get("SELECT count(*) AS n FROM other"), { n: 100 });
  });
});
