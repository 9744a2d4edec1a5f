import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { failureOf } from "../../../plugins/storage-sqlite/failures.ts";

const sqliteError = (message: string, errcode?: number) =>
  Object.assign(new Error(message), errcode === undefined ? {} : { errcode });

describe("what a caller is told about an error of SQLite", () => {
  const rows: [why: string, error: Error, code: string, retryAfterMs: number | undefined][] = [
    ["a unique constraint", sqliteError("UNIQUE constraint failed: t.a", 2067), "CONFLICT", undefined],
    ["a foreign key", sqliteError("FOREIGN KEY constraint failed", 787), "CONFLICT", undefined],
    ["a unique constraint without its code", sqliteError("UNIQUE constraint failed: t.a"), "CONFLICT", undefined],
    ["a full disk", sqliteError("database or disk is full", 13), "UNAVAILABLE", 1_000],
    ["a full disk without its code", sqliteError("database or disk is full"), "UNAVAILABLE", 1_000],
    ["a failed write", sqliteError("disk I/O error", 778), "UNAVAILABLE", 1_000],
    ["a failed fsync", sqliteError("disk I/O error", 1034), "UNAVAILABLE", 1_000],
    ["a read-only file", sqliteError("attempt to write a readonly database", 8), "UNAVAILABLE", 1_000],
    ["a busy file", sqliteError("database is locked", 5), "UNAVAILABLE", 1_000],
    ["no descriptors left", sqliteError("unable to open database file", 14), "UNAVAILABLE", 1_000],
    ["a damaged file", sqliteError("database disk image is malformed", 11), "UNAVAILABLE", undefined],
    ["a NOT NULL constraint", sqliteError("NOT NULL constraint failed: t.a", 1299), "FAULT", undefined],
    ["wrong SQL", sqliteError('near "selct": syntax error', 1), "FAULT", undefined],
  ];
  for (const [why, error, code, retryAfterMs] of rows) {
    it(`${why} gives ${code}`, () => {
      const failure = failureOf(error, "SELECT 1");
      assert.equal(failure.code, code);
      assert.equal(failure.retryAfterMs, retryAfterMs);
    });
  }

  it("shows the first 200 characters of wrong SQL", () => {
    const { message } = failureOf(sqliteError("no such table: t", 1), "x".repeat(201));
    assert.equal(message, `no such table: t in: ${"x".repeat(200)}`);
  });

  it("shows a client no names of tables", () => {
    const failure = failureOf(sqliteError("UNIQUE constraint failed: secrets.key", 2067), "INSERT INTO secrets");
    assert.equal(failure.message.includes("secrets"), false);
    assert.equal(failure.cause, "UNIQUE constraint failed: secrets.key");
  });
});
