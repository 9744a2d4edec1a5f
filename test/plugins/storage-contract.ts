/** What every provider of `Storage` does, whatever its engine. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Dialect, sqlFor, type SqlValue, type Statement, type Storage } from "@svc/sdk/storage";

const NOTES =
  "CREATE TABLE notes (id BIGINT PRIMARY KEY, text TEXT UNIQUE, at BIGINT, price REAL, data BLOB, kind INTEGER)";
const add = (id: number, text = `text ${id}`): Statement => ({
  sql: "INSERT INTO notes (id, text) VALUES (?, ?)",
  params: [id, text],
});
const IDS = "SELECT id FROM notes ORDER BY id";
const CONFLICT = { name: "GatewayError", code: "CONFLICT" };

/** @param open an empty storage that closes with the test */
export function storageContract(open: (t: TestContext) => Promise<Storage>): void {
  const notes = async (t: TestContext) => {
    const storage = await open(t);
    await storage.migrate("notes", [NOTES]);
    return storage;
  };

  describe("transactions", () => {
    it("change all or nothing", async (t) => {
      const storage = await notes(t);
      await storage.transaction([add(1), add(2)]);
      await assert.rejects(storage.transaction([add(3), add(1)]), CONFLICT);
      assert.deepEqual(await storage.all(IDS), [{ id: 1 }, { id: 2 }]);
      assert.deepEqual(await storage.transaction([]), []);
    });

    it("answer the number of changes and the rows of RETURNING", async (t) => {
      const storage = await notes(t);
      const returning = { sql: "INSERT INTO notes (id, text) VALUES (2, 'b'), (3, 'c') RETURNING text" };
      const none = { sql: "UPDATE notes SET text = 'x' WHERE id = 99" };
      const results = await storage.transaction([add(1), { ...returning, expectChanges: 2 }, none]);
      assert.deepEqual(JSON.parse(JSON.stringify(results)), [
        { changes: 1, rows: [] },
        { changes: 2, rows: [{ text: "b" }, { text: "c" }] },
        { changes: 0, rows: [] },
      ]);
    });

    it("are rolled back when a statement changes another number of rows than expected", async (t) => {
      const storage = await notes(t);
      await storage.transaction([add(1)]);
      for (const [sql, expectChanges] of [
        ["UPDATE notes SET text = 'y' WHERE id = 99", 1],
        ["DELETE FROM notes WHERE id = 99 RETURNING id", 1],
        ["DELETE FROM notes WHERE id = 1", 0],
        ["INSERT INTO notes (id) VALUES (1) ON CONFLICT (id) DO NOTHING", 1],
        ["WITH gone AS (SELECT 99 AS id) DELETE FROM notes WHERE id IN (SELECT id FROM gone)", 1],
      ] as const)
        await assert.rejects(storage.transaction([add(2), { sql, expectChanges }]), CONFLICT, sql);
      assert.deepEqual(await storage.all(IDS), [{ id: 1 }]);
      const gone = { sql: "DELETE FROM notes WHERE id = 1 RETURNING id, text", expectChanges: 1 };
      const [result] = await storage.transaction([gone]);
      assert.deepEqual({ ...result?.rows[0] }, { id: 1, text: "text 1" });
    });

    it("that are sent together run in this order, and a failing one does not affect the others", async (t) => {
      const storage = await notes(t);
      const sent = Array.from({ length: 300 }, (_, n) =>
        storage.transaction([
          add(n === 100 ? 99 : n),
          { sql: "UPDATE notes SET at = (SELECT count(*) FROM notes) WHERE id = ?", params: [n], expectChanges: 1 },
        ]),
      );
      const settled = await Promise.allSettled(sent);
      const failed = settled.flatMap(({ status }, n) => (status === "rejected" ? [n] : []));
      assert.deepEqual(failed, [100]);
      const order = await storage.all<{ id: number; at: number }>("SELECT id, at FROM notes ORDER BY at");
      assert.deepEqual(
        order.map(({ id }) => id),
        Array.from({ length: 300 }, (_, n) => n).filter((n) => n !== 100),
      );
      assert.equal(order.at(-1)?.at, 299);
    });

    it("are seen by a read that is sent after them", async (t) => {
      const storage = await notes(t);
      for (let n = 1; n <= 30; n += 1) {
        await (n % 2 === 0 ? storage.transaction([add(n)]) : storage.append([add(n)]));
        assert.deepEqual({ ...(await storage.get("SELECT count(*) AS n FROM notes")) }, { n });
      }
    });

    it("refuse SQL that is wrong, more than one statement, or controls the transaction, with a plain error", async (t) => {
      const storage = await notes(t);
      for (const [sql, message] of [
        ["INSERT INTO nowhere VALUES (1)", /nowhere.* in: INSERT INTO nowhere/],
        ["DELETE FROM notes; DELETE FROM notes", /only one SQL statement/],
        ["COMMIT", /COMMIT is not allowed/],
        ["DELETE FROM notes WHERE id = $1", /placeholder/],
        ["DELETE FROM notes WHERE id = ?", /1 placeholders, but 0 parameters/],
      ] as const)
        await assert.rejects(storage.transaction([add(1), { sql }]), (error: Error) => {
          assert.match(error.message, message);
          return error.name !== "GatewayError";
        });
      assert.deepEqual(await storage.all(IDS), []);
      await assert.rejects(storage.transaction([{ sql: "DELETE FROM notes WHERE text = ?", params: ["a\0b"] }]), {
        code: "INVALID_REQUEST",
      });
      await assert.rejects(storage.append([{ ...add(1), expectChanges: 1 }]), TypeError);
    });
  });

  it("reads cannot write", async (t) => {
    const storage = await notes(t);
    const message = /all and get only read; use transaction/;
    await assert.rejects(storage.get("INSERT INTO notes (id) VALUES (1) RETURNING id"), message);
    await assert.rejects(storage.all("DELETE FROM notes"), message);
    await assert.rejects(storage.all("BEGIN"), /BEGIN is not allowed/);
    assert.deepEqual(await storage.get("SELECT id FROM notes"), undefined);
  });

  it("values come back as they were stored", async (t) => {
    const storage = await notes(t);
    const rows: SqlValue[][] = [
      [1, "", 0, 0.5, new Uint8Array([0, 255, 128]), 1],
      [2, "ünïcödé 🎉 'quoted' \\ \"double\" $1 ?", 2n ** 62n, 1e300, new Uint8Array(), -1],
      [3, null, -(2n ** 63n), 0, null, null],
      [4, "%_x", 9_007_199_254_740_993n, 1_700_000_000_000, new Uint8Array(100_000).fill(7), 2_147_483_648],
    ];
    const sql = "INSERT INTO notes (id, text, at, price, data, kind) VALUES (?, ?, ?, ?, ?, ?)";
    await storage.transaction(rows.map((params) => ({ sql, params })));
    const found = await storage.all("SELECT id, text, at, price, data, kind FROM notes ORDER BY id");
    assert.deepEqual(found.map(Object.values), rows);
    const [sum] = await storage.all(
      "SELECT sum(id) AS total, count(*) AS n, max(price) AS most, 1 = 1 AS yes FROM notes",
    );
    assert.deepEqual({ ...sum }, { total: 10, n: 4, most: 1e300, yes: 1 });
  });

  it("texts compare byte by byte", async (t) => {
    const storage = await notes(t);
    const texts = ["Z", "a", "B", "ä", "_", "a;", "a:", "a:1", "aa"];
    await storage.transaction(texts.map((text, id) => add(id, text)));
    const sorted = await storage.all<{ text: string }>("SELECT text FROM notes ORDER BY text");
    assert.deepEqual(
      sorted.map(({ text }) => text),
      texts.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))),
    );
    const below = await storage.all("SELECT text FROM notes WHERE text > 'a:' AND text < 'a;'");
    assert.deepEqual(below.map(Object.values), [["a:1"]]);
  });

  describe("migrations", () => {
    const first = "CREATE TABLE a (id BIGINT PRIMARY KEY); CREATE TABLE b (id BIGINT PRIMARY KEY)";
    const second = "ALTER TABLE a ADD COLUMN text TEXT DEFAULT 'x'";
    const table = (storage: Storage, name: string) =>
      storage.get(`SELECT count(*) AS n FROM ${name}`).then(
        () => true,
        () => false,
      );

    it("apply each step of each owner once; prepared statements follow", async (t) => {
      const storage = await open(t);
      await storage.migrate("p", [first]);
      await storage.migrate("p", [first]);
      await storage.transaction([{ sql: "INSERT INTO a (id) VALUES (1)" }]);
      assert.deepEqual({ ...(await storage.get("SELECT * FROM a")) }, { id: 1 });
      await storage.transaction([{ sql: "UPDATE a SET id = 1 RETURNING *" }]);
      await storage.migrate("p", [first, second]);
      assert.deepEqual({ ...(await storage.get("SELECT * FROM a")) }, { id: 1, text: "x" });
      const [changed] = await storage.transaction([{ sql: "UPDATE a SET id = 1 RETURNING *" }]);
      assert.deepEqual({ ...changed?.rows[0] }, { id: 1, text: "x" });
      await storage.migrate("p", [first]); // an older version
      await storage.migrate("q", ["CREATE TABLE c (id BIGINT)"]);
      const steps = await storage.all(
        "SELECT owner, step, sql FROM svc_migrations WHERE owner IN ('p', 'q') ORDER BY 1, 2",
      );
      assert.deepEqual(steps.map(Object.values), [
        ["p", 1, JSON.stringify(first)],
        ["p", 2, JSON.stringify(second)],
        ["q", 1, '"CREATE TABLE c (id BIGINT)"'],
      ]);
    });

    it("refuse a changed earlier step and name it", async (t) => {
      const storage = await open(t);
      await storage.migrate("p", [first]);
      await assert.rejects(
        storage.migrate("p", ["CREATE TABLE c (id BIGINT)", second]),
        /step 1 of "p".*a different text/,
      );
      assert.equal(await table(storage, "c"), false);
    });

    for (const [why, step] of [
      ["wrong SQL", "CREATE TABL c (id)"],
      ["an end of the transaction", "CREATE TABLE c (id BIGINT); COMMIT"],
      ["data that break a rule", "INSERT INTO a VALUES (1); INSERT INTO a VALUES (1)"],
    ] as const)
      it(`undo all steps of the call for ${why}`, async (t) => {
        const storage = await open(t);
        await assert.rejects(storage.migrate("p", [first, step]), (error: Error) => {
          assert.match(error.message, /step 2 of "p"/);
          return error.name !== "GatewayError";
        });
        assert.deepEqual([await table(storage, "a"), await table(storage, "c")], [false, false]);
        await storage.migrate("p", [first]);
        assert.equal(await table(storage, "b"), true);
      });
  });

  describe("the dialect", () => {
    const list = [{ type: "text", text: "one" }, "two", { type: "call" }];
    const json = { a: { b: 7, text: "x" }, list, word: "plain", nothing: null };
    const small = (d: Dialect) => d.jsonWithout("given.v", "list", "a");
    const AT = Date.UTC(2026, 1, 28, 23, 59, 59, 999);
    const cases: readonly [
      what: string,
      value: (d: Dialect) => string,
      expected: unknown,
      from?: (d: Dialect) => string,
    ][] = [
      ["greatest", ({ greatest }) => greatest("at", "5"), AT],
      [
        "isJson",
        ({ isJson }) => `cast(case when ${isJson("'{'")} then 1 when ${isJson("given.v")} then 2 end as bigint)`,
        2,
      ],
      ["jsonText", ({ jsonText }) => jsonText("given.v", "a", "text"), "x"],
      ["jsonText of nothing", ({ jsonText }) => jsonText("given.v", "x", "b"), null],
      ["jsonPart", ({ jsonPart }) => jsonPart("given.v", "a"), json.a],
      [
        "jsonMerge",
        ({ jsonMerge }) => jsonMerge("given.v", `'{"a":{"b":null,"c":[1]},"list":null,"word":1}'`),
        { a: { text: "x", c: [1] }, word: 1, nothing: null },
      ],
      ["jsonWithout", small, { word: "plain", nothing: null }],
      ["jsonWithNumber", (d) => d.jsonWithNumber(small(d), "n", "4 + 1"), { word: "plain", nothing: null, n: 5 }],
      ["jsonLength", ({ jsonLength, jsonPart }) => jsonLength(jsonPart("given.v", "list")), 3],
      [
        "jsonArray of jsonObject over jsonEach",
        ({ jsonArray, jsonObject, jsonText }) => {
          const [block, plain] = [jsonObject({ t: jsonText("e.value", "text") }), jsonObject({ t: "e.value" })];
          return jsonArray(`case e.type when 'object' then ${block} else ${plain} end`);
        },
        [{ t: "one" }, { t: "two" }, { t: null }],
        ({ jsonEach }) => `cross join ${jsonEach("given.v", "e", "list")}`,
      ],
      [
        "jsonEach of a text",
        () => "e.value",
        "plain",
        ({ jsonEach }) => `cross join ${jsonEach("given.v", "e", "word")}`,
      ],
      [
        "jsonEach of ids",
        () => "count(*)",
        2,
        ({ jsonEach, thenJoin }) =>
          `cross join ${jsonEach(`'["a","b","b"]'`, "e")} ${thenJoin} (SELECT 'b' AS id) AS o ON o.id = e.value`,
      ],
      ["jsonArray of nothing", ({ jsonArray }) => jsonArray("given.at", "given.at < 0"), []],
      ["day", ({ day }) => day("given.at"), "2026-02-28"],
    ];
    for (const [what, value, expected, from = () => ""] of cases)
      it(`${what} gives the same result on every engine`, async (t) => {
        const storage = await open(t);
        const sql = sqlFor(
          (d) =>
            `WITH given AS (SELECT CAST(? AS TEXT) AS v, CAST(? AS BIGINT) AS at) SELECT ${value(d)} AS v FROM given ${from(d)}`,
        );
        const found = (await storage.get<{ v: unknown }>(sql, [JSON.stringify(json), AT]))?.v;
        assert.deepEqual(
          typeof expected === "object" && expected !== null ? JSON.parse(String(found)) : found,
          expected,
        );
      });

    it("JSON with the escape of U+0000 can be read and changed", async (t) => {
      const storage = await open(t);
      await storage.migrate("notes", [NOTES]);
      const text = JSON.stringify({ said: "a\0b \\u0000", n: 1 });
      await storage.transaction([{ sql: "INSERT INTO notes (id, text) VALUES (1, ?)", params: [text] }]);
      const merge = sqlFor(({ jsonMerge }) => `UPDATE notes SET text = ${jsonMerge("text", "?")} WHERE id = 1`);
      await storage.transaction([{ sql: merge, params: ['{"n":2}'], expectChanges: 1 }]);
      const read = sqlFor(
        ({ jsonText }) => `SELECT ${jsonText("text", "n")} AS n, ${jsonText("text", "said")} AS said FROM notes`,
      );
      const row = await storage.get<{ n: string | number; said: string }>(read);
      assert.equal(Number(row?.n), 2);
      assert.match(String(row?.said), /^a/);
    });
  });
}
