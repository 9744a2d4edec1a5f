import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { groupCommit, type Transaction } from "../../../plugins/storage-sqlite/group-commit.ts";
import type { Outcome } from "../../../plugins/storage-sqlite/messages.ts";
import { preparedStatements } from "../../../plugins/storage-sqlite/prepared.ts";
import { tempDirectory } from "./temp-directory.ts";

/** Parents and children (whose parent is checked at COMMIT), and a second connection to the same file. */
function open(t: TestContext) {
  const file = join(tempDirectory(t), "x.db");
  const connection = new DatabaseSync(file, { timeout: 0 });
  const other = new DatabaseSync(file, { timeout: 0 });
  t.after(() => [connection, other].forEach((each) => each.close()));
  connection.exec("PRAGMA journal_mode = WAL");
  connection.exec("CREATE TABLE parents (id INTEGER PRIMARY KEY, text TEXT)");
  connection.exec("CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED)");
  const group = groupCommit(connection, preparedStatements(connection));
  const all = (waiting: readonly Transaction[]): string[] => {
    const told = codes(group.run(waiting, () => true));
    return told.length < waiting.length ? [...told, ...all(waiting.slice(told.length))] : told; // as the thread does
  };
  const stored = () =>
    other
      .prepare("SELECT id FROM parents ORDER BY id")
      .all()
      .map(({ id }: { id: number }) => id);
  return { connection, other, group, all, stored };
}

const codes = (outcomes: readonly Outcome[]) =>
  outcomes.map((outcome) => ("failure" in outcome ? outcome.failure.code : "ok"));
const add = (id: number): Transaction => [{ sql: "INSERT INTO parents (id) VALUES (?)", params: [id] }];

const ROLLBACK = "INSERT OR ROLLBACK INTO parents (id) VALUES (1)";

/** The `nth` statement fails as on a broken disk, without being executed. */
function failingAt(connection: DatabaseSyncInstance, nth: number) {
  let calls = 0;
  const prepare = (sql: string) => {
    const statement = connection.prepare(sql);
    const run = (...values: unknown[]) => {
      calls += 1;
      if (calls === nth) throw Object.assign(new Error("disk I/O error"), { errcode: 778 });
      return statement.run(...values);
    };
    return { run, get: () => statement.get(), columns: () => statement.columns() };
  };
  const facade = {
    prepare,
    get isTransaction() {
      return connection.isTransaction;
    },
  };
  return { connection: facade as unknown as DatabaseSyncInstance, failed: () => calls >= nth }; // all that is used
}

/** About three pages. */
const big = (id: number): Transaction => [
  { sql: "INSERT INTO parents (id, text) VALUES (?, hex(randomblob(6000)))", params: [id] },
];

describe("group commit", () => {
  it("commits all of a group at once", (t) => {
    const { all, stored, group } = open(t);
    assert.deepEqual(all([add(1), add(2), add(3)]), ["ok", "ok", "ok"]);
    assert.deepEqual(stored(), [1, 2, 3]);
    assert.equal(group.commits, 1);
  });

  const none = "DELETE FROM parents WHERE id = 9";
  const culprits: [why: string, culprit: Transaction, code: string][] = [
    ["breaks a constraint", [...add(5), ...add(1)], "CONFLICT"],
    ["changes another number of rows", [...add(5), { sql: none, expectChanges: 1 }], "CONFLICT"],
    ["is wrong SQL", [...add(5), { sql: "INSERT INTO nowhere VALUES (1)" }], "FAULT"],
    ["tries to commit by itself", [...add(5), { sql: "COMMIT" }], "FAULT"],
    ["ends everybody's transaction", [...add(5), { sql: ROLLBACK }], "CONFLICT"],
    ["breaks a constraint checked at COMMIT", [...add(5), { sql: "INSERT INTO children VALUES (99)" }], "CONFLICT"],
  ];
  for (const [why, culprit, code] of culprits) {
    it(`undoes one that ${why}, alone and wholly`, (t) => {
      const { all, stored, connection } = open(t);
      assert.deepEqual(all([add(1), add(2), culprit, add(3)]), ["ok", "ok", code, "ok"]);
      assert.deepEqual(stored(), [1, 2, 3]);
      assert.equal(connection.isTransaction, false);
    });
  }

  it("takes up no more when time is over, but always one", (t) => {
    const { group, stored } = open(t);
    assert.deepEqual(codes(group.run([add(1), add(2)], () => false)), ["ok"]);
    assert.deepEqual(stored(), [1]);
  });

  it("reports each outcome correctly when the file is full, and works again when there is space", (t) => {
    const { connection, all, stored } = open(t);
    const { page_count: pages } = connection.prepare("PRAGMA page_count").get();
    connection.exec(`PRAGMA max_page_count = ${pages + 4}`);
    const told = all([1, 2, 3, 4, 5].map(big));
    assert.ok(told.includes("UNAVAILABLE"));
    assert.ok(told.every((code) => code === "ok" || code === "UNAVAILABLE"));
    assert.deepEqual(
      stored(),
      [1, 2, 3, 4, 5].filter((id) => told[id - 1] === "ok"),
    );
    connection.exec("PRAGMA max_page_count = 100000");
    assert.deepEqual(all([big(9)]), ["ok"]);
  });

  it("says the truth about each whichever statement fails on a broken disk", (t) => {
    let failed = true;
    for (let nth = 1; failed; nth += 1) {
      const { connection, stored } = open(t);
      const faulty = failingAt(connection, nth);
      const group = groupCommit(faulty.connection, preparedStatements(faulty.connection));
      const told = codes(group.run([add(1), add(1), add(2)], () => true));
      failed = faulty.failed();
      if (!failed) assert.deepEqual(told, ["ok", "CONFLICT", "ok"]);

      const one = told[0] === "ok" || told[1] === "ok" ? [1] : [];
      const two = told[2] === "ok" ? [2] : [];
      assert.deepEqual(stored(), [...one, ...two], `call ${nth}: ${told.join()}`);
      assert.ok(!told.includes("CONFLICT") || one.length > 0, `call ${nth}: a conflict with nothing`);
      const refused = told.indexOf("UNAVAILABLE");
      assert.ok(refused < 0 || !told.includes("ok", refused), `call ${nth}: one overtook what the disk refused`);
      assert.equal(connection.isTransaction, false);
      if (failed) assert.deepEqual(codes(group.run([add(3)], () => true)), ["ok"], `call ${nth}: the next group`);
    }
  });

  const counts: [why: string, sql: string, changes: number][] = [
    ["an insert", "INSERT INTO parents (id) VALUES (7), (8)", 2],
    ["an update that hits nothing", "UPDATE parents SET text = 'x' WHERE id = 99", 0],
    ["a statement with RETURNING", "UPDATE parents SET text = 'x' RETURNING id", 2],
    ["a WITH that writes", "WITH x AS (SELECT 9 AS id) INSERT INTO parents (id) SELECT id FROM x", 1],
    ["a WITH that reads", "WITH x AS (SELECT 9 AS id) SELECT * FROM x", 0],
    ["a SELECT", "SELECT * FROM parents", 0],
    ["a new table", "CREATE TABLE another (id INTEGER)", 0],
  ];
  for (const [why, sql, changes] of counts) {
    it(`counts the rows of ${why}`, (t) => {
      const { group } = open(t);
      const [outcome] = group.run([[...add(1), ...add(2), { sql }]], () => true);
      assert.ok(outcome !== undefined && "value" in outcome && Array.isArray(outcome.value));
      assert.equal(outcome.value[2].changes, changes);
    });
  }
});
