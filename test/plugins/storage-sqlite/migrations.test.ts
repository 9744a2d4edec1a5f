import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { notesStorage } from "./temp-directory.ts";

const first = "CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER PRIMARY KEY)";
const second = "ALTER TABLE a ADD COLUMN text TEXT DEFAULT 'x'";
const tables = "SELECT name FROM sqlite_schema WHERE name IN ('a', 'b') ORDER BY name";

describe("migrations", () => {
  it("apply each step of each owner once, also steps of several statements", async (t) => {
    const { storage } = await notesStorage(t);
    await storage.migrate("p", [first]);
    await storage.migrate("p", [first]);
    await storage.transaction([{ sql: "INSERT INTO a (id) VALUES (1)" }]);
    assert.deepEqual(await storage.all("SELECT * FROM a"), [{ id: 1 }]);
    await storage.migrate("p", [first, second]);
    assert.deepEqual(await storage.all("SELECT * FROM a"), [{ id: 1, text: "x" }], "prepared statements follow");
    await storage.migrate("p", [first]); // an older version
    await storage.migrate("q", ["CREATE TABLE c (id INTEGER)"]);
    const steps = await storage.all("SELECT step FROM svc_migrations WHERE owner = 'p' ORDER BY step");
    assert.deepEqual(steps, [{ step: 1 }, { step: 2 }]);
  });

  it("refuse a changed earlier step and name it", async (t) => {
    const { storage } = await notesStorage(t);
    await storage.migrate("p", [first]);
    await assert.rejects(
      storage.migrate("p", ["CREATE TABLE c (id INTEGER)", second]),
      /step 1 of "p".*a different text/,
    );
    assert.deepEqual(await storage.all("SELECT * FROM a"), []);
  });

  const broken: [why: string, step: string, message: RegExp][] = [
    ["wrong SQL", "CREATE TABL c (id)", /step 2 of "p".*syntax error/],
    ["an end of the transaction", "CREATE TABLE c (id); COMMIT", /step 2 of "p".*not authorized/],
    ["data that break a new rule", "INSERT INTO a VALUES (1); INSERT INTO a VALUES (1)", /step 2 of "p".*UNIQUE/],
  ];
  for (const [why, step, message] of broken) {
    it(`undo all steps of the call for ${why}`, async (t) => {
      const { storage } = await notesStorage(t);
      await assert.rejects(storage.migrate("p", [first, step]), (error: Error) => {
        assert.match(error.message, message);
        return error.name === "Error";
      });
      assert.deepEqual(await storage.all(tables), []);
      await storage.migrate("p", [first]);
      assert.deepEqual(await storage.all(tables), [{ name: "a" }, { name: "b" }]);
    });
  }

  it("refuse a step that leaves a reference to nothing, as the mistake it is", async (t) => {
    const { storage } = await notesStorage(t);
    const references = "CREATE TABLE c (a INTEGER REFERENCES a DEFERRABLE INITIALLY DEFERRED)";
    await assert.rejects(storage.migrate("p", [first, references, "INSERT INTO c VALUES (99)"]), {
      name: "Error",
      message: /migration of "p": FOREIGN KEY/,
    });
    assert.deepEqual(await storage.all(tables), []);
  });

  it("can make a trigger and a full-text table", async (t) => {
    const { storage } = await notesStorage(t);
    await storage.migrate("p", [
      first,
      "CREATE TRIGGER copy AFTER INSERT ON a BEGIN INSERT INTO b VALUES (new.id); END",
      "CREATE VIRTUAL TABLE texts USING fts5(text)",
    ]);
    const [result] = await storage.transaction([
      { sql: "INSERT INTO a VALUES (4)", expectChanges: 1 },
      { sql: "INSERT INTO texts VALUES ('hello world')" },
    ]);
    assert.equal(result?.changes, 1);
    assert.deepEqual(await storage.all("SELECT id FROM b"), [{ id: 4 }]);
    assert.deepEqual(await storage.all("SELECT text FROM texts WHERE texts MATCH ?", ["hello"]), [
      { text: "hello world" },
    ]);
  });

  it("run in order with transactions that were sent around them", async (t) => {
    const { storage } = await notesStorage(t);
    const results = await Promise.allSettled([
      storage.transaction([{ sql: "INSERT INTO a VALUES (1)" }]),
      storage.migrate("p", [first]),
      storage.transaction([{ sql: "INSERT INTO a VALUES (2)" }]),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["rejected", "fulfilled", "fulfilled"],
    );
    assert.deepEqual(await storage.all("SELECT id FROM a"), [{ id: 2 }]);
  });
});
