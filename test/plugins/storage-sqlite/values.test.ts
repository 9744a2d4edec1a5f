import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SqlValue } from "@svc/sdk/storage";
import { checkedParams, checkedStatement } from "@svc/kit/sql";
import { notesStorage } from "./temp-directory.ts";

describe("values on their way in", () => {
  const refused: [why: string, value: unknown, message: RegExp][] = [
    ["a Date", new Date(0), /parameter 2 is a Date; use epoch milliseconds/],
    ["a boolean", true, /parameter 2 is of type boolean; use 0 or 1/],
    ["undefined", undefined, /parameter 2 is undefined; use null/],
    ["an object", { a: 1 }, /parameter 2 is of type object/],
    ["an array", [1], /parameter 2 is an array/],
    ["a function", () => 1, /parameter 2 is of type function/],
    ["NaN", Number.NaN, /parameter 2 is NaN/],
    ["a bigint beyond 64 bits", 2n ** 63n, /above 64 bits/],
  ];
  for (const [why, value, message] of refused) {
    it(`refuses ${why}`, () => {
      const params = [1, value] as SqlValue[]; // what a caller without types could give
      assert.throws(() => checkedParams(params), { name: "TypeError", message });
    });
  }

  it("refuses a text that SQLite would cut, as what a client sent", () => {
    assert.throws(() => checkedParams(["a\0b"]), { name: "GatewayError", code: "INVALID_REQUEST", message: /U\+0000/ });
  });

  it("refuses params that are no array, and an expectChanges that is no count", () => {
    assert.throws(() => checkedParams({} as SqlValue[]), { name: "TypeError" }); // as above
    assert.throws(() => checkedStatement({ sql: "SELECT 1", expectChanges: -1 }, "sqlite"), { name: "TypeError" });
  });

  it("copies bytes, so that a later change does not reach the database", () => {
    const bytes = new Uint8Array([1, 2]);
    const [copy] = checkedParams([bytes]);
    bytes[0] = 9;
    assert.deepEqual(copy, new Uint8Array([1, 2]));
  });
});

describe("values through the database", () => {
  const kept: [why: string, value: SqlValue][] = [
    ["null", null],
    ["an empty text", ""],
    ["text beyond ASCII", "größer 🐦"],
    ["zero", 0],
    ["a negative integer", -5],
    ["epoch milliseconds", 1_700_000_000_000],
    ["the largest exact integer", Number.MAX_SAFE_INTEGER],
    ["a fraction", 0.1],
    ["an integer beyond 2^53", 2n ** 53n + 1n],
    ["the smallest 64-bit integer", -(2n ** 63n)],
    ["bytes", new Uint8Array([0, 255])],
    ["no bytes", new Uint8Array(0)],
  ];
  it("come back as they went in", async (t) => {
    const { storage } = await notesStorage(t);
    await storage.migrate("values", ["CREATE TABLE kept (why TEXT PRIMARY KEY, value)"]);
    const insert = "INSERT INTO kept VALUES (?, ?) RETURNING value";
    for (const [why, value] of kept) {
      const [result] = await storage.transaction([{ sql: insert, params: [why, value] }]);
      assert.deepEqual(result?.rows, [{ value }], why);
      assert.deepEqual(await storage.get("SELECT value FROM kept WHERE why = ?", [why]), { value }, why);
    }
    const all = await storage.all<{ why: string; value: SqlValue }>("SELECT why, value FROM kept ORDER BY rowid");
    assert.deepEqual(
      all,
      kept.map(([why, value]) => ({ why, value })),
    );
  });

  it("come back as numbers and texts where these hold them", async (t) => {
    const { storage } = await notesStorage(t);
    assert.deepEqual(await storage.get("SELECT ? AS value", [7n]), { value: 7 });
    await storage.transaction([{ sql: "INSERT INTO notes (text) VALUES (?)", params: [1_700_000_000_000] }]);
    assert.deepEqual(await storage.get("SELECT text FROM notes"), { text: "1700000000000" });
  });

  it("refuses a Date before anything is sent", async (t) => {
    const { storage } = await notesStorage(t);
    const params = [new Date(0)] as unknown as SqlValue[]; // what a caller without types could give
    await assert.rejects(storage.get("SELECT ? AS value", params), { name: "TypeError" });
    await assert.rejects(storage.transaction([{ sql: "INSERT INTO notes (text) VALUES (?)", params }]), {
      name: "TypeError",
    });
    assert.deepEqual(await storage.all("SELECT * FROM notes"), []);
  });

  it("refuses another number of parameters than placeholders", async (t) => {
    const { storage } = await notesStorage(t);
    await assert.rejects(storage.get("SELECT ? AS a, ? AS b", [1]), /2 placeholders, but 1 parameters/);
    await assert.rejects(storage.transaction([{ sql: "DELETE FROM notes WHERE id = ?" }]), /1 placeholders, but 0/);
  });
});
