import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { shapeOf } from "@svc/kit/sql";

describe("the shape of a statement", () => {
  const accepted: [why: string, sql: string, verb: string, placeholders: number][] = [
    ["counts placeholders", "INSERT INTO t VALUES (?, ?)", "insert", 2],
    ["passes over a question mark in a text", "SELECT '?' WHERE a = ?", "select", 1],
    ["reads a doubled quote as part of the text", "SELECT 'it''s; ?' WHERE a = ?", "select", 1],
    ["passes over quoted names", 'SELECT "a;?", `b;?`, [c;?] FROM t', "select", 0],
    ["passes over comments", "-- first; ?\nSELECT 1 /* ; ? */", "select", 0],
    ["allows a semicolon and a comment at the end", "SELECT 1; -- done;", "select", 0],
    ["allows a dollar sign inside a name", "SELECT a$b FROM t", "select", 0],
    ["allows JSON operators", "SELECT a ->> '$.b' FROM t WHERE c = ?", "select", 1],
    ["allows names beyond ASCII", "SELECT größe FROM t", "select", 0],
    ["reads a time in a text as no parameter", "SELECT '12:30' WHERE a = ?", "select", 1],
  ];
  for (const [why, sql, verb, placeholders] of accepted) {
    it(why, () => assert.deepEqual(shapeOf(sql), { verb, placeholders }));
  }

  const refused: [why: string, sql: string, message: RegExp][] = [
    ["nothing", "", /no SQL statement/],
    ["a comment alone", "-- nothing", /no SQL statement/],
    ["a semicolon alone", ";", /no SQL statement/],
    ["two statements", "DELETE FROM a; DELETE FROM b", /only one SQL statement/],
    ["a second statement after a comment", "DELETE FROM a; /* x */ DELETE FROM b", /only one SQL statement/],
    [
      "a trigger, which belongs in a migration",
      "CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM t; END",
      /only one/,
    ],
    ["a numbered placeholder", "SELECT ?1", /placeholder \?1/],
    ["a named placeholder", "SELECT :name", /placeholder :name/],
    ["a dollar placeholder", "SELECT $1", /placeholder \$1/],
    ["the end of the transaction", "commit", /COMMIT is not allowed/],
    ["the end of the transaction behind a byte order mark", "\ufeff COMMIT", /COMMIT is not allowed/],
    ["the end of the transaction behind a comment", "/* x */ ROLLBACK", /ROLLBACK is not allowed/],
    ["a setting", "PRAGMA synchronous = OFF", /PRAGMA is not allowed/],
    ["another file", "ATTACH 'x' AS y", /ATTACH is not allowed/],
    ["the character U+0000, where SQLite stops reading", "SELECT 1 \0 FROM t", /U\+0000/],
  ];
  for (const [why, sql, message] of refused) it(`refuses ${why}`, () => assert.throws(() => shapeOf(sql), message));

  it("reads a text of a megabyte", () => {
    assert.deepEqual(shapeOf(`SELECT '${"a''".repeat(350_000)}', ?`), { verb: "select", placeholders: 1 });
  });
});
