/**
 * koa as in `koa.ts`, and the least that a durable webhook needs: the body is on disk before the response, one sync for all that arrived together;
 * a thread then adds two rows to tables with the indexes of the gateway's.
 */
import { DatabaseSync } from "@photostructure/sqlite";
import { Router } from "@koa/router";
import Koa from "koa";
import { randomUUID } from "node:crypto";
import { constants, mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import rawBody from "raw-body";
import { announce } from "./control.ts";

type Record = readonly [id: string, at: number, text: string];

if (isMainThread) await serve();
else store(workerData as string);

async function serve(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "svc-bench-koa-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const { O_APPEND, O_CREAT, O_WRONLY, O_DSYNC } = constants;
  const log = await open(join(directory, "log"), O_APPEND | O_CREAT | O_WRONLY | O_DSYNC);
  const thread = new Worker(new URL(import.meta.url), { workerData: join(directory, "records.db") });
  let waiting: { readonly record: Record; readonly done: () => void }[] = [];
  let writing = false;
  const write = async () => {
    writing = true;
    for (; waiting.length > 0;) {
      const group = waiting;
      waiting = [];
      const records = group.map(({ record }) => record);
      await log.write(`${JSON.stringify(records)}\n`);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window: there is no origin
      thread.postMessage(records);
      for (const { done } of group) done();
    }
    writing = false;
  };
  const record = (text: string) =>
    new Promise<void>((done) => {
      waiting.push({ record: [randomUUID(), Date.now(), text], done });
      if (!writing) setImmediate(() => !writing && void write());
    });

  const router = new Router();
  router.post("/plugins/bench/wake", async (context) => {
    const { length } = context.request;
    const bytes = await rawBody(context.req, { limit: 1_048_576, ...(length === undefined ? {} : { length }) });
    const { text } = JSON.parse(bytes.toString()) as { text: string };
    await record(text);
    context.body = { ok: true, length: text.length };
  });
  const app = new Koa();
  app.use(router.routes());
  const server = app.listen(0, "127.0.0.1", () =>
    announce(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  );
}

/** The thread. @param file of the database */
function store(file: string): void {
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE runs (id TEXT PRIMARY KEY, status TEXT, at INTEGER);
    CREATE INDEX runs_open ON runs (at) WHERE status = 'queued';
    CREATE INDEX runs_at ON runs (at);
    CREATE TABLE events (id TEXT PRIMARY KEY, at INTEGER, text TEXT);
    CREATE INDEX events_at ON events (at);
    CREATE INDEX events_waiting ON events (at) WHERE text <> '';
    CREATE INDEX events_settled ON events (at) WHERE at > 0`);
  const [run, event] = ["INSERT INTO runs VALUES (?, 'done', ?)", "INSERT INTO events VALUES (?, ?, ?)"].map((sql) =>
    database.prepare(sql),
  );
  parentPort?.on("message", (records: readonly Record[]) => {
    database.exec("BEGIN");
    for (const [id, at, text] of records) {
      run?.run(id, at);
      event?.run(id, at, text);
    }
    database.exec("COMMIT");
  });
}
