/** The `Storage` service: validates calls, passes them to the database thread and restarts the thread when it ends. */
import { type Clock, type Logger, unavailable } from "@svc/sdk";
import { checkedAppend, checkedParams, checkedSql, checkedStatement, toStep } from "@svc/kit/sql";
import type { Sql, SqlValue, Storage } from "@svc/sdk/storage";
import { resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { connect, type Connection } from "./connection.ts";
import { AppendLog } from "./append-log.ts";
import type { DatabaseOptions, Position, Space, SpaceWork, Value, Work } from "./messages.ts";

/** Choice: unexpected ends of the database thread within this time after which it is not restarted. */
const MAX_DEATHS = 5;
const DEATH_WINDOW_MS = 60_000;

export interface OpenOptions {
  /** Path of the database file; created if missing. */
  readonly file: string;
  /** Milliseconds a statement waits while another process locks the file. Default 2000; 0 fails at once. */
  readonly busyTimeoutMs?: number;
}

/** Statistics since `createStorage`. */
export interface StorageStats {
  /** Transactions that resolved. */
  readonly transactions: number;
  /** Commits for these transactions. */
  readonly commits: number;
  readonly reads: number;
  /** Unexpected ends of the database thread. */
  readonly deaths: number;
}

export interface StorageOwner {
  /** Rejects every call with `UNAVAILABLE` before `open` and after `close`. */
  readonly storage: Storage;
  /** Whether no other process uses the file as a gateway does. @throws GatewayError `UNAVAILABLE` */
  readonly isAlone: () => Promise<boolean>;
  /** Runs the action and returns the size of the file. @throws GatewayError `UNAVAILABLE` */
  readonly space: (action: SpaceWork["action"]) => Promise<Space>;
  /** @throws Error naming the file and the next step */
  readonly open: (options: OpenOptions) => Promise<void>;
  /** Waits for accepted calls, checkpoints the log into the file, ends the thread. Safe to call twice. */
  readonly close: () => Promise<void>;
  readonly stats: () => StorageStats;
}

/** Dependencies of a storage, which tests replace; each has a default. */
export interface StorageParts {
  readonly clock?: Pick<Clock, "now" | "elapsed" | "setTimeout">;
  readonly log?: Pick<Logger, "error" | "warn">;
  /** Starts a database thread. */
  readonly startThread?: (options: DatabaseOptions) => Worker;
}

function startDatabaseThread(options: DatabaseOptions): Worker {
  const url = new URL("./worker.js", import.meta.url); // next to this file, both compiled and bundled
  return new Worker(url, { name: "storage-sqlite", workerData: options, execArgv: [] });
}

const realClock: Pick<Clock, "now" | "elapsed" | "setTimeout"> = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  setTimeout(work, ms) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/** Creates the service without opening a file. */
export function createStorage(parts: StorageParts = {}): StorageOwner {
  const { clock = realClock, log, startThread = startDatabaseThread } = parts;
  let target: DatabaseOptions | undefined;
  let connection: Connection | undefined;
  let appends: AppendLog | undefined;
  let isOwner = false;
  let deaths: { at: number; reason: string }[] = [];
  const counts = { transactions: 0, commits: 0, reads: 0, deaths: 0 };

  function start(options: DatabaseOptions): Connection {
    const started = connect(startThread({ ...options, appending: appends?.current, isOwner }), {
      died(reason) {
        if (connection === started) connection = undefined;
        counts.commits += started.commits();
        if (target === undefined) return; // `open` reports the end of the thread, or `close` caused it
        counts.deaths += 1;
        deaths.push({ at: clock.elapsed(), reason });
        log?.error({ reason, file: options.file }, "the database thread ended; the next call restarts it");
      },
      skipped: (reason) => log?.error({ reason }, "a stored record does not fit into its tables and was dropped"),
    });
    connection = started;
    return started;
  }

  /** @throws GatewayError `UNAVAILABLE` */
  function connected(): Connection {
    if (target === undefined) return unavailable("storage is not open");
    if (connection !== undefined) return connection;
    const now = clock.elapsed();
    deaths = deaths.filter(({ at }) => now - at < DEATH_WINDOW_MS);
    const [first] = deaths;
    if (first === undefined || deaths.length < MAX_DEATHS) return start(target);
    return unavailable("the database keeps failing and is not restarted for now; see the log of the gateway", {
      retryAfterMs: first.at + DEATH_WINDOW_MS - now,
      cause: new Error(deaths.at(-1)?.reason),
    });
  }

  const call = (work: Work) => connected().call(work);

  async function read(kind: "all" | "get", sql: Sql, params?: readonly SqlValue[]): Promise<Value> {
    const work = { kind, sql: checkedSql(sql, "sqlite"), params: checkedParams(params) };
    if (appends?.concerns(work.sql) === true) await appends.run();
    const value = await call(work);
    counts.reads += 1;
    return value;
  }

  const storage: Storage = {
    get location() {
      return target?.file ?? "";
    },
    async migrate(owner, steps) {
      void appends?.run(); // its statements were written for the tables as they are
      await call({ kind: "migrate", owner, steps: steps.map((step) => toStep(step, "sqlite")), at: clock.now() });
    },
    // The caller names the type of its own rows; it cannot be checked here.
    all: async <T>(sql: Sql, params?: readonly SqlValue[]) => (await read("all", sql, params)) as T[],
    get: async <T>(sql: Sql, params?: readonly SqlValue[]) => (await read("get", sql, params)) as T | undefined,
    async transaction(statements) {
      const checked = statements.map((statement) => checkedStatement(statement, "sqlite"));
      if (checked.some(({ sql }) => appends?.concerns(sql))) void appends?.run(); // the thread keeps the order of writes
      const value = await call({ kind: "transaction", statements: checked });
      counts.transactions += 1;
      return value as Awaited<ReturnType<Storage["transaction"]>>; // result of group-commit.ts
    },
    async append(statements) {
      if (target === undefined || appends === undefined) return unavailable("storage is not open");
      const checked = statements.map((statement) => checkedAppend(statement, "sqlite"));
      if (!(await appends.isOwner)) return void (await this.transaction(checked));
      await appends.append(checked);
      counts.transactions += 1;
    },
  };

  return {
    storage,
    isAlone: async () => (isOwner = (await call({ kind: "alone" })) as boolean), // result of worker.ts
    space: async (action) => (await call({ kind: "space", action })) as Space, // result of database.ts
    async open({ file, busyTimeoutMs = 2_000 }) {
      if (target !== undefined || connection !== undefined) throw new Error("storage is open, or still closing");
      const options = { file: resolve(file), busyTimeoutMs };
      const started = start(options);
      const { isBehind } = await started.ready;
      target = options;
      const replay = async (until: Position) => (connection ?? connected()).call({ kind: "replay", until });
      const own = async () => (await call({ kind: "own" })) as number | undefined; // result of worker.ts
      appends = new AppendLog({ database: options.file, isBehind, own, replay, clock, log });
    },
    async close() {
      target = undefined;
      await appends?.close();
      appends = undefined;
      const open = connection;
      if (open === undefined) return;
      await open.close();
      if (connection !== open) return; // ended meanwhile, or closed by another call
      counts.commits += open.commits();
      connection = undefined;
    },
    stats: () => ({ ...counts, commits: counts.commits + (connection?.commits() ?? 0) }),
  };
}

/** `createStorage` and `open` in one call, for tests and tools. @throws Error naming the file and the next step */
export async function openStorage(options: OpenOptions & StorageParts): Promise<Omit<StorageOwner, "open">> {
  const { open, ...owner } = createStorage(options);
  await open(options);
  return owner;
}
