/** Databases of a state directory, opened as copies. */
// own process: its directory for temporary files is its own
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import { openDatabases } from "../../../../plugins/import/openclaw/database.ts";
import { authProfilesIn } from "../../../../plugins/import/openclaw/left-in-databases.ts";
import { stateFiles } from "../../../../plugins/import/openclaw/state-files.ts";
import { directory } from "../../../directory.ts";
import { AGENT, GLOBAL, main, read, session, small, sql } from "../../../openclaw-databases.ts";
import { pathsIn } from "../../../openclaw-state.ts";

describe("openDatabases", () => {
  const temporary = mkdtempSync(join(tmpdir(), "svc-databases-"));
  before(() => (process.env["TMPDIR"] = temporary));
  after(() => rmSync(temporary, { recursive: true }));

  const copies = () => readdirSync(tmpdir()).filter((name) => name.startsWith("svc-import-"));

  for (const [name, newest] of [
    [GLOBAL, 18],
    [AGENT, 23],
  ] as const)
    it(`refuses ${name} with a schema above ${newest}, removes the copies, and reads it anyway`, async (t) => {
      const state = small(t, { agent: main });
      const database = new DatabaseSync(join(state, name));
      database.exec(`PRAGMA user_version = ${newest + 1}`);
      database.close();
      const before = copies();
      await assert.rejects(openDatabases(stateFiles(state), false), (error: { details?: object; message?: string }) => {
        assert.equal(Object(error.details).code, "IMPORT_NEWER");
        assert.match(String(error.message), new RegExp(`has the schema ${newest + 1}, and the reader knows ${newest}`));
        return true;
      });
      assert.deepEqual(copies(), before);
      const { sessions } = await read(state, { isAnyway: true });
      assert.equal(sessions.length, 1);
    });

  it("reads what is only in the log, and refuses a database that is no database", async (t) => {
    const state = small(t, { agent: main, isInLog: true });
    assert.ok(statSync(join(state, `${AGENT}-wal`)).size > 0);
    assert.equal((await read(state)).sessions.length, 1);
    rmSync(join(state, `${AGENT}-wal`));
    assert.equal((await read(state)).sessions.length, 0);
    writeFileSync(join(state, AGENT), "this is no database, it is only a text");
    await assert.rejects(read(state), { message: /openclaw-agent\.sqlite cannot be read: .*\nNext: openclaw doctor/ });
  });

  it("undoes a transaction that a crash interrupted, in the copy", async (t) => {
    const state = small(t, { agent: main });
    const path = join(state, AGENT);
    const database = new DatabaseSync(path);
    database.exec("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; DELETE FROM session_nodes;");
    for (let i = 0; i < 200; i += 1) database.exec(session(`agent:main:k${i}`, "s", 1, { label: "x".repeat(500) }));
    const [half, journal] = [readFileSync(path), readFileSync(`${path}-journal`)];
    database.exec("ROLLBACK");
    database.close();
    writeFileSync(path, half);
    writeFileSync(`${path}-journal`, journal);
    const { sessions } = await read(state);
    assert.deepEqual(
      sessions.map(({ id }) => id),
      ["agent:main:main"],
    );
  });

  it("follows no link to a database", async (t) => {
    const state = small(t);
    const outside = join(directory(t), "outside.sqlite");
    writeFileSync(outside, readFileSync(join(state, AGENT)));
    rmSync(join(state, AGENT));
    symlinkSync(outside, join(state, AGENT));
    await assert.rejects(read(state), { message: /openclaw-agent\.sqlite cannot be read: .*symbolic link/ });
  });

  it("uses a private directory while it is open", async (t) => {
    const before = new Set(copies());
    const databases = await openDatabases(stateFiles(small(t)), false);
    const made = copies().find((name) => !before.has(name));
    const place = join(tmpdir(), made ?? "");
    assert.equal(statSync(place).mode & 0o777, 0o700);
    assert.deepEqual(
      new Set(
        pathsIn(place)
          .slice(1)
          .map((path) => statSync(path).mode & 0o077),
      ),
      new Set([0]),
    );
    await databases.close();
    await databases.close();
    assert.equal(copies().includes(made ?? ""), false);
  });

  it("gives the credentials of each agent in the form of the file of earlier versions", async (t) => {
    const profile = (key: string) => ({ type: "api_key", provider: "openai", key });
    const store = (profiles: object) => sql(JSON.stringify({ version: 1, profiles }));
    const table = (name: string, profiles: object) =>
      `CREATE TABLE ${name} (store_json TEXT); INSERT INTO ${name} VALUES (${store(profiles)});`;
    const agent = table("auth_profile_store", { "openai:default": profile("own") });
    const shared = { "openai:default": profile("shared"), "xai:default": profile("x") };
    const global = table("auth_profile_stores", shared);
    const databases = await openDatabases(stateFiles(small(t, { agent, global })), false);
    t.after(databases.close);
    assert.deepEqual(authProfilesIn(databases), [
      { id: "main", authProfiles: { profiles: { "openai:default": profile("own"), "xai:default": profile("x") } } },
    ]);
  });
});
