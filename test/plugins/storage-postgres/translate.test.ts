/** Shared SQL in the form of PostgreSQL. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { translateStep, Translator } from "../../../plugins/storage-postgres/translate.ts";

describe("a statement", () => {
  const translated = (sql: string, params: number) => new Translator().get(sql, params);

  it("gets numbered parameters, outside of texts, names and comments", () => {
    const { text } = translated(`SELECT '?', "a?" -- ?\nFROM a /* ? */ WHERE b = ? AND c = ?;`, 2);
    assert.equal(text, `SELECT '?', "a?"  \nFROM a   WHERE b = $1 AND c = $2`);
  });

  for (const [sql, returnsRows] of [
    ["DELETE FROM a RETURNING *", true],
    ["delete from a returning id", true],
    ["WITH gone AS (DELETE FROM a RETURNING *) SELECT 1", false],
    ["SELECT 'returning'", false],
  ] as const)
    it(`${sql} ${returnsRows ? "returns" : "does not return"} rows of a change`, () =>
      assert.equal(translated(sql, 0).returnsRows, returnsRows));

  it("has one name as long as it is known; with very many, further ones have none", () => {
    const translator = new Translator();
    assert.equal(translator.get("SELECT 1", 0).name, translator.get("SELECT 1", 0).name);
    const names = Array.from({ length: 1_500 }, (_, n) => translator.get(`SELECT ${n}`, 0).name);
    assert.equal(new Set(names).size, 1_001); // and `undefined`
  });
});

describe("a migration step", () => {
  for (const [step, expected] of [
    [
      "CREATE TABLE a (text TEXT NOT NULL, blob BLOB, n INTEGER DEFAULT 1, r REAL, PRIMARY KEY (text, n)) STRICT, WITHOUT ROWID",
      'CREATE TABLE a (text text COLLATE "C" NOT NULL, blob bytea, n bigint DEFAULT 1, r double precision, PRIMARY KEY (text, n)) ',
    ],
    [
      'create table "a" ("text" text unique, check (text <> \'TEXT\'))',
      'create table "a" ("text" text COLLATE "C" unique, check (text <> \'TEXT\'))',
    ],
    ["ALTER TABLE a ADD COLUMN text TEXT DEFAULT 'x'", "ALTER TABLE a ADD COLUMN text text COLLATE \"C\" DEFAULT 'x'"],
    [
      "CREATE TABLE a (x INTEGER) STRICT; CREATE INDEX i ON a (x) WHERE x IS NOT NULL",
      "CREATE TABLE a (x bigint) ; CREATE INDEX i ON a (x) WHERE x IS NOT NULL",
    ],
    ["UPDATE a SET text = 'INTEGER' WHERE integer = 1", "UPDATE a SET text = 'INTEGER' WHERE integer = 1"],
    ["CREATE TABLE b AS SELECT text, integer FROM a", "CREATE TABLE b AS SELECT text, integer FROM a"],
  ] as const)
    it(step.slice(0, 60), () =>
      assert.equal(translateStep(step).replaceAll("  ", " ").trim(), expected.replaceAll("  ", " ").trim()),
    );

  it("cannot end the transaction", () => {
    assert.throws(() => translateStep("CREATE TABLE a (x TEXT); COMMIT"), /COMMIT is not allowed in a migration step/);
  });
});
