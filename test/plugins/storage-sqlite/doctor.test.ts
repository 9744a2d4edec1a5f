// long: starts whole programs
/** `svc storage doctor`: whether databases are intact. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import { runCommand } from "@svc/sdk/testing";
import commands from "../../../plugins/storage-sqlite/cli.ts";
import { databaseFindings, stateFindings } from "../../../plugins/storage-sqlite/doctor.ts";
import { GatewayError } from "@svc/sdk";
import { directory, put } from "../../directory.ts";
import { home } from "../../host/cli/svc.ts";

it("checks a copy of a database", async (t) => {
  const place = directory(t);
  const path = join(place, "svc.db");
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode=WAL; CREATE TABLE t (x); INSERT INTO t VALUES (randomblob(100000))");
  const before = readdirSync(place);
  assert.deepEqual(await databaseFindings(path), []);
  assert.deepEqual(readdirSync(place), before);
  database.close();
  const bytes = readFileSync(path);
  writeFileSync(path, Buffer.concat([bytes.subarray(0, 4_096), Buffer.alloc(bytes.length - 4_096, 7)]));
  assert.match((await databaseFindings(path))[0]?.message ?? "", /^it is damaged: /);
  assert.deepEqual(readdirSync(place), ["svc.db"]);
});

/** Writes a database whose pages are overwritten. */
function putDamaged(path: string): void {
  put(path, "");
  const database = new DatabaseSync(path);
  database.exec("CREATE TABLE t (x); INSERT INTO t VALUES (randomblob(100000))");
  database.close();
  const bytes = readFileSync(path);
  writeFileSync(path, Buffer.concat([bytes.subarray(0, 4_096), Buffer.alloc(bytes.length - 4_096, 7)]));
}

it("reports damaged databases in the state directory to svc doctor", { timeout: 120_000 }, async (t) => {
  const here = home(t);
  const path = join(here.stateDir, "plugins/storage-sqlite/svc.db");
  putDamaged(path);
  putDamaged(join(here.stateDir, "cache/made-anew.db"));
  put(join(here.stateDir, "notes.db"), "no database");
  const { stdout, code } = await here.svc(["doctor", "--json"]);
  const { findings } = JSON.parse(stdout) as { findings: { check: string; severity: string; about: string }[] };
  const found = findings.filter(({ check }) => check === "database");
  assert.deepEqual(
    found.map(({ severity, about }) => [severity, about]),
    [["error", path]],
  );
  assert.equal(code, 1);
});

it("finds databases of any name, lost ones, one with a header of zeros, and the configured one", async (t) => {
  const stateDir = directory(t);
  const elsewhere = join(directory(t), "mine");
  const at = (name: string) => join(stateDir, "plugins/storage-sqlite", name);
  putDamaged(at("renamed"));
  putDamaged(join(stateDir, "plugins/memory/index.sqlite"));
  putDamaged(elsewhere);
  for (const name of ["emptied", "zeroed"]) put(at(name), "");
  put(at("emptied.holds-data"), "");
  put(at("missing.holds-data"), "");
  put(at("new-wal"), "");
  const zeroed = new DatabaseSync(at("zeroed"));
  zeroed.exec("PRAGMA journal_mode=WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)");
  const bytes = readFileSync(at("zeroed"));
  writeFileSync(at("zeroed"), bytes.fill(0, 0, 100));
  put(join(stateDir, "notes.db"), "no database");
  const found = await stateFindings(stateDir, async () => elsewhere);
  zeroed.close();
  assert.deepEqual(
    found.map(({ severity, about, message }) => `${severity} ${about} ${message.split(":")[0]}`).toSorted(),
    [
      `error ${elsewhere} it is damaged`,
      `error ${join(stateDir, "plugins/memory/index.sqlite")} it is damaged`,
      `error ${at("emptied")} it held data and is now empty`,
      `error ${at("missing")} it held data and is now missing`,
      `error ${at("renamed")} it is damaged`,
      `error ${at("zeroed")} it has no SQLite header`,
    ].toSorted(),
  );
});

it("asks a gateway that runs, and reports one that does not answer", async () => {
  const check = (health: unknown) =>
    runCommand(commands, "storage doctor", { options: { running: true }, json: true, answers: { health } });
  const { asked, printed, code } = await check({});
  assert.deepEqual([asked, printed, code], [[["health", { probe: true }]], [{ findings: [] }], 0]);
  const silent = await check(new GatewayError("UNAVAILABLE", "no answer\nNext: wait"));
  const [{ findings } = { findings: [] }] = silent.printed as { findings: { severity: string; message: string }[] }[];
  const told = findings.map(({ severity, message }) => [severity, message]);
  assert.deepEqual(told, [["error", "the health check failed: no answer"]]);
});
