/** The `Storage` service: validates calls, reads over several connections, writes over one. */
import { checkedAppend, checkedParams, checkedSql, checkedStatement, toStep } from "@svc/kit/sql";
import type { Signals } from "@svc/kit/storage";
import { type Clock, type Logger, unavailable } from "@svc/sdk";
import type { Sql, SqlValue, Storage } from "@svc/sdk/storage";
import type { Address } from "./address.ts";
import type { Client } from "pg";
import { checkServer, connect, describedOpenError, Unfit } from "./connections.ts";
import { errorOf } from "./failures.ts";
import { OWNER, STEPS } from "./functions.ts";
import { appliedSteps, migrate } from "./migrations.ts";
import { Readers } from "./readers.ts";
import { listen, NOTIFY } from "./signals.ts";
import { Writer } from "./writer.ts";

export interface StorageParts {
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
}

export interface OpenOptions {
  /** Opens a schema with an unfinished copy, too. Default false. */
  readonly isCopy?: boolean;
}

export interface StorageOwner {
  /** Rejects every call with `UNAVAILABLE` before `open` and after `close`. */
  readonly storage: Storage;
  readonly signals: Signals;
  /** Opens a connection for events. @throws the error of the connection */
  readonly forEvents: (lost: () => void) => Promise<Client>;
  /** As `storage.transaction`, ahead of what waits. */
  readonly urgent: Storage["transaction"];
  /** Runs work over a connection of its own, without time limit. @throws GatewayError `UNAVAILABLE` */
  readonly apart: <T>(work: (client: Client) => Promise<T>) => Promise<T>;
  /** @param connections for reads @throws Error naming the address without credentials, and the next step */
  readonly open: (address: Address, connections: number, options?: OpenOptions) => Promise<void>;
  /** Waits for accepted calls. Safe to call twice. */
  readonly close: () => Promise<void>;
}

interface Open {
  readonly address: Address;
  readonly writer: Writer;
  readonly readers: Readers;
  readonly applied: Map<string, string[]>;
}

/** Creates the service without connecting. */
export function createStorage({ clock, log }: StorageParts): StorageOwner {
  let open: Open | undefined;
  let isClosed = false;

  const opened = () => open ?? unavailable("storage is not open");
  const lost = (error: Error) => {
    if (!isClosed) log.warn({ err: error }, "a connection to the database was lost; the next call connects again");
  };

  async function read(sql: Sql, params?: readonly SqlValue[]) {
    const text = checkedSql(sql, "postgres");
    return opened().readers.read(text, checkedParams(params));
  }

  async function migrateOwner({ address, writer, applied }: Open, owner: string, steps: readonly Sql[]): Promise<void> {
    const wanted = steps.map((step) => toStep(step, "postgres"));
    const known = applied.get(owner) ?? [];
    if (wanted.length <= known.length && wanted.every(({ hash }, index) => known[index] === hash)) return;
    const apply = () => apart(address, (client) => migrate(client, owner, wanted, clock.now()));
    applied.set(owner, await writer.exclusive(apply));
  }

  const storage: Storage = {
    get location() {
      return open?.address.location ?? "";
    },
    migrate: async (owner, steps) => migrateOwner(opened(), owner, steps),
    // The caller names the type of its own rows; it cannot be checked here.
    all: async <T>(sql: Sql, params?: readonly SqlValue[]) => (await read(sql, params)) as T[],
    get: async <T>(sql: Sql, params?: readonly SqlValue[]) => (await read(sql, params))[0] as T | undefined,
    transaction: async (statements) =>
      opened().writer.transaction(statements.map((statement) => checkedStatement(statement, "postgres"))),
    async append(statements) {
      await opened().writer.transaction(statements.map((statement) => checkedAppend(statement, "postgres")));
    },
  };

  return {
    storage,
    urgent: async (statements) =>
      opened().writer.urgent(statements.map((statement) => checkedStatement(statement, "postgres"))),
    signals: {
      send: async (message) => void (await storage.transaction([{ sql: NOTIFY, params: [message] }])),
      listen: async (heard, missed) => {
        const { address } = opened();
        return listen((gone) => connect(address, "long", (error) => (lost(error), gone())), { heard, missed });
      },
    },
    forEvents: (gone) => connect(opened().address, "stream", (error) => (lost(error), gone())),
    apart: async (work) => apart(opened().address, work),
    async open(address, connections, { isCopy = false } = {}) {
      const applied = await checked(address, isCopy).catch((error: unknown) => {
        throw describedOpenError(error, address);
      });
      const writer = new Writer((gone) => connect(address, "write", (error) => (lost(error), gone())));
      const readers = new Readers(address, connections, lost);
      const state = { address, writer, readers, applied };
      try {
        await readers.open().catch((error: unknown) => {
          throw describedOpenError(error, address);
        });
        await migrateOwner(state, OWNER, STEPS);
        open = state;
      } catch (error) {
        await Promise.all([writer.close(), readers.close()]);
        throw error;
      }
    },
    async close() {
      const closing = open;
      open = undefined;
      isClosed = true;
      await closing?.writer.close();
      await closing?.readers.close();
    },
  };
}

/** @throws GatewayError `UNAVAILABLE`; Error for invalid SQL */
async function apart<T>(address: Address, work: (client: Client) => Promise<T>): Promise<T> {
  let client: Client | undefined;
  try {
    client = await connect(address, "long", () => undefined);
    return await work(client);
  } catch (error) {
    throw errorOf(error);
  } finally {
    await client?.end().catch(() => undefined);
  }
}

/** The applied steps of a server that can be used. @throws Error naming what it lacks */
async function checked(address: Address, isCopy: boolean): Promise<Map<string, string[]>> {
  const first = await connect(address, "long", () => undefined);
  try {
    await checkServer(first, address, () => connect(address, "long", () => undefined));
    const { rows } = await first.query<{ copying: number }>("SELECT to_regclass('svc_copy') IS NOT NULL AS copying");
    if (rows[0]?.copying === 1 && !isCopy)
      throw new Unfit(`${address.location} holds an unfinished copy; repeat the command svc storage copy`);
    return await appliedSteps(first);
  } finally {
    await first.end().catch(() => undefined);
  }
}
