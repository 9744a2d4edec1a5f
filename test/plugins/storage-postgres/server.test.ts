/** What a gateway demands of a server, and what it does when the server fails. */
// own process: it kills servers
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { Client } from "pg";
import { parseAddress } from "../../../plugins/storage-postgres/address.ts";
import { checkServer } from "../../../plugins/storage-postgres/connections.ts";
import { freePort } from "../../free-port.ts";
import { emptySchema, startPostgres } from "../../postgres.ts";
import { until } from "../../until.ts";
import { openPostgres, withoutPostgres } from "./open-postgres.ts";

async function sql(url: string, ...statements: string[]): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

const at = (url: string, change: (url: URL) => void) => {
  const parsed = new URL(url);
  change(parsed);
  return parsed.href;
};

describe("an address", () => {
  const read = (url: string) => parseAddress(url, "/state");

  it("is shown without credentials, with its schema", () => {
    const { location, schema } = read("postgres://ann:secret@db.example:6000/main?sslmode=disable");
    assert.deepEqual([location, schema], ["postgres://db.example:6000/main/svc", "svc"]);
    assert.match(read("postgres://localhost/x?schema=svc_*").schema, /^svc_[0-9a-f]{16}$/);
    const other = parseAddress("postgres://localhost/x?schema=svc_*", "/other");
    assert.notEqual(read("postgres://localhost/x?schema=svc_*").schema, other.schema);
  });

  it("of another machine needs TLS with a valid certificate, unless it says otherwise", () => {
    assert.deepEqual(read("postgres://db.example/x").config.ssl, { rejectUnauthorized: true });
    assert.equal(read("postgres://db.example/x?sslmode=disable").config.ssl, false);
    assert.equal(read("postgres://127.0.0.1/x").config.ssl, undefined);
  });

  for (const [url, message] of [
    ["secret", /is not a URL; use postgres:/],
    ["mysql://secret@h/x", /begins with mysql:/],
    ["postgres://h/x?schema=a;drop", /the schema "a;drop" has other characters/],
  ] as const)
    it(`${url} is refused without its credentials`, () => {
      assert.throws(
        () => read(url),
        (error: Error) => message.test(error.message) && !error.message.includes("secret"),
      );
    });
});

it("a server older than version 14 is refused", async () => {
  const client = { query: async () => ({ rows: [{ version: 130_014, shown: "13.14", standby: 0, readonly: "off" }] }) };
  await assert.rejects(
    checkServer(client as never, parseAddress("postgres://localhost/x", ""), () => assert.fail()),
    /postgres:\/\/localhost:5432\/x\/svc is PostgreSQL 13\.14; use version 14 or newer/,
  );
});

describe("a server", { skip: withoutPostgres() }, () => {
  it("that does not answer, a missing database and a missing right are named with the next step", async (t) => {
    const { url } = await startPostgres(t);
    const nobody = at(url, (one) => (one.port = "1"));
    await assert.rejects(
      openPostgres(t, nobody),
      /cannot open the database postgres:\/\/127\.0\.0\.1:1\/svc\/svc: .*; check that the server runs/,
    );
    const missing = at(url, (one) => (one.pathname = "/other"));
    await assert.rejects(
      openPostgres(t, missing),
      /database "other" does not exist; create it: CREATE DATABASE "other"/,
    );
    await sql(
      url,
      "CREATE ROLE guest LOGIN",
      "REVOKE ALL ON DATABASE svc FROM PUBLIC",
      "GRANT CONNECT ON DATABASE svc TO PUBLIC",
    );
    const guest = at(url, (one) => (one.username = "guest"));
    await assert.rejects(
      openPostgres(t, guest),
      /may not create the schema svc; run as its owner: CREATE SCHEMA svc AUTHORIZATION/,
    );
    await sql(url, "CREATE SCHEMA svc AUTHORIZATION guest");
    const { storage } = await openPostgres(t, guest);
    await storage.migrate("p", ["CREATE TABLE a (id BIGINT PRIMARY KEY)"]);
    await Promise.all([1, 2, 3].map((id) => storage.transaction([{ sql: "INSERT INTO a VALUES (?)", params: [id] }])));
    assert.equal((await storage.all("SELECT id FROM a")).length, 3); // without further rights
  });

  it("that accepts no writes is refused", async (t) => {
    const { url } = await startPostgres(t);
    await sql(url, "ALTER DATABASE svc SET default_transaction_read_only = on");
    await assert.rejects(openPostgres(t, url), /accepts no writes; use the address of the primary server/);
  });

  it("behind a transaction pooler is refused; its session mode is fine", { skip: withoutPgbouncer() }, async (t) => {
    const { port } = await startPostgres(t);
    const pooled = await startPgbouncer(t, port, "transaction");
    await assert.rejects(
      openPostgres(t, pooled),
      /is behind a transaction pooler.*use the address of the server itself, or the session mode/,
    );
    const { storage } = await openPostgres(t, await startPgbouncer(t, port, "session"));
    assert.deepEqual({ ...(await storage.get("SELECT 1 AS one")) }, { one: 1 });
  });

  it("keeps the connections of reads that failed", async (t) => {
    const { storage } = await openPostgres(t);
    const connections = async () => {
      const reads = Array.from({ length: 8 }, () => storage.get<{ id: number }>("SELECT pg_backend_pid() AS id"));
      return new Set((await Promise.all(reads)).map((row) => row?.id));
    };
    const before = await connections();
    for (let round = 0; round < 4; round += 1) await assert.rejects(storage.all("SELECT nothing FROM nowhere"));
    for (const id of await connections()) assert.ok(before.has(id));
  });

  it("killed again and again loses nothing that was acknowledged; calls meanwhile are told to come again", async (t) => {
    const server = await startPostgres(t);
    const { storage } = await openPostgres(t, server.url);
    await storage.migrate("p", ["CREATE TABLE a (id BIGINT PRIMARY KEY)"]);
    const acknowledged = new Set<number>();
    const codes = new Set<string>();
    let next = 0;
    const over = new AbortController();
    const write = async () => {
      while (!over.signal.aborted) {
        const id = (next += 1);
        await storage.transaction([{ sql: "INSERT INTO a VALUES (?)", params: [id] }]).then(
          () => acknowledged.add(id),
          async (error: { code?: string }) => {
            codes.add(String(error.code));
            await new Promise((resolve) => setTimeout(resolve, 20));
          },
        );
      }
    };
    const writers = Array.from({ length: 8 }, write);
    t.after(() => over.abort());
    for (let round = 0; round < 3; round += 1) {
      const before = acknowledged.size;
      await until(() => acknowledged.size > before + 200);
      await server.kill();
      await server.start();
    }
    over.abort();
    await Promise.all(writers);
    await until(() =>
      storage.get("SELECT 1 AS one").then(
        () => true,
        () => false,
      ),
    );
    const stored = new Set((await storage.all<{ id: number }>("SELECT id FROM a")).map(({ id }) => id));
    assert.deepEqual(
      [...acknowledged].filter((id) => !stored.has(id)),
      [],
    );
    assert.deepEqual([...codes], ["UNAVAILABLE"]);
  });
});

describe("two gateways on one schema", { skip: withoutPostgres() }, () => {
  const pair = async (t: TestContext) => {
    const url = await emptySchema();
    return [await openPostgres(t, url), await openPostgres(t, url)] as const;
  };

  it("that start together apply each step once", async (t) => {
    const url = await emptySchema();
    const opened = await Promise.all([1, 2, 3].map(() => openPostgres(t, url)));
    const steps = ["CREATE TABLE a (id BIGINT PRIMARY KEY, n BIGINT)", "INSERT INTO a VALUES (1, 0)"];
    await Promise.all(opened.map(({ storage }) => storage.migrate("p", steps)));
    assert.deepEqual((await opened[0]?.storage.all("SELECT id FROM a"))?.map(Object.values), [[1]]);
  });

  it("of which one is of the version before use the same tables", async (t) => {
    const [older, newer] = await pair(t);
    const steps = ["CREATE TABLE a (id BIGINT PRIMARY KEY)"];
    await older.storage.migrate("p", steps);
    await older.storage.all("SELECT * FROM a");
    await newer.storage.migrate("p", [...steps, "ALTER TABLE a ADD COLUMN text TEXT DEFAULT 'x'"]);
    const insert = { sql: "INSERT INTO a (id) VALUES (1) RETURNING *", expectChanges: 1 };
    const [result] = await older.storage.transaction([insert]);
    assert.deepEqual({ ...result?.rows[0] }, { id: 1, text: "x" });
    assert.deepEqual({ ...(await older.storage.get("SELECT * FROM a")) }, { id: 1, text: "x" });
    await older.storage.migrate("p", steps);
  });

  it("see the transactions of the other as if they came one after the other", async (t) => {
    const both = await pair(t);
    await both[0].storage.migrate("p", ["CREATE TABLE a (kind TEXT, seq BIGINT, PRIMARY KEY (kind, seq))"]);
    const append = (kind: string) => ({
      sql: "INSERT INTO a SELECT ?, coalesce((SELECT max(seq) FROM a WHERE kind = ?), 0) + 1",
      params: [kind, kind],
      expectChanges: 1,
    });
    // At most 10 rows of a kind: what a check before the insert must hold.
    const limited = {
      sql: "INSERT INTO a SELECT 'few', (SELECT count(*) FROM a WHERE kind = 'few') WHERE (SELECT count(*) FROM a WHERE kind = 'few') < 10",
    };
    const calls = Array.from({ length: 150 }, (_, n) =>
      both.map(({ storage }) => storage.transaction([append(n % 2 === 0 ? "x" : "y"), limited])),
    );
    await Promise.all(calls.flat());
    const counts = await both[1].storage.all(
      "SELECT kind, count(*) AS n, max(seq) AS last FROM a GROUP BY kind ORDER BY kind",
    );
    assert.deepEqual(counts.map(Object.values), [
      ["few", 10, 9],
      ["x", 150, 150],
      ["y", 150, 150],
    ]);
  });
});

function withoutPgbouncer(): string | false {
  return (
    withoutPostgres() ||
    (process.env["SVC_TEST_PGBOUNCER"] ? false : "SVC_TEST_PGBOUNCER is not set; it needs pgbouncer")
  );
}

/** @returns address of the pooler */
async function startPgbouncer(t: TestContext, server: number, mode: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "svc-pgbouncer-"));
  const port = await freePort();
  await writeFile(join(directory, "users.txt"), '"svc" ""\n');
  const lines = [
    "[databases]",
    `svc = host=127.0.0.1 port=${server} user=svc`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = trust",
    `auth_file = ${join(directory, "users.txt")}`,
    `pool_mode = ${mode}`,
  ];
  const file = join(directory, "pgbouncer.ini");
  await writeFile(file, lines.join("\n"), { mode: 0o644 });
  const as = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const { chmod } = await import("node:fs/promises");
  await chmod(directory, 0o755);
  const child = spawn("pgbouncer", [file], { stdio: ["ignore", "pipe", "pipe"], ...as });
  t.after(async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
    await rm(directory, { recursive: true, force: true });
  });
  const url = `postgres://svc@127.0.0.1:${port}/svc`;
  await until(() =>
    sql(url, "SELECT 1").then(
      () => true,
      () => false,
    ),
  );
  return url;
}
