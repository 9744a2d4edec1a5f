/** Deletes expired data of plugins, measures what they store, and returns free space of the database to the disk. */
import { type Clock, type Contribution, type ExtensionView, type Logger, pause, type ResultOf, Turns } from "@svc/sdk";
import {
  type Condition,
  type ExpiringRows,
  type Retention,
  sqlFor,
  type storage as contract,
  type Storage,
  type StorageItem,
} from "@svc/sdk/storage";
import { fileSpace, type Space, sum } from "./file-space.ts";
import { BATCH, counting, deletions, expiredOf } from "./retention-sql.ts";

/** Choice: milliseconds between two batches; bounds the share of database time for deletions. */
const PAUSE_MS = 20;
/** Choice: free bytes that remain in the file for new rows. */
const KEPT_FREE = 4 * 1_048_576;

/** Size of the database. */
export interface DatabaseSpace {
  readonly bytes: number;
  /** Bytes that hold nothing. */
  readonly freeBytes: number;
  /** Whether `shrink` works now. */
  readonly givesBack: boolean;
}

/** Short messages from one gateway to all on the database; some may be lost. */
export interface Signals {
  /** @throws GatewayError `UNAVAILABLE` */
  send(message: string): Promise<void>;
  /** @param missed called when messages may have been lost @returns ends it */
  listen(heard: (message: string) => void, missed: () => void): Promise<() => Promise<void>>;
}

/** What a storage plugin knows of its engine, beside `Storage`. Each rejects with `UNAVAILABLE`. */
export interface Engine {
  readonly storage: Storage;
  /** Present for a database that one gateway uses at a time: whether it is this one. */
  isAlone?(): Promise<boolean>;
  /** Present for a database that several gateways use: messages between them. */
  readonly signals?: Signals;
  /** Called with the name of this gateway, if it has a lease, and with those of all that have one. */
  readonly members?: (self: string | undefined, present: ReadonlySet<string>) => void;
  /** As `storage.transaction`, ahead of what waits. Default: the same. */
  readonly urgent?: Storage["transaction"];
  /** Size after the work: `shrink` returns some free bytes to the disk. */
  space(action: "read" | "shrink"): Promise<DatabaseSpace>;
  /** Rewrites the database without its free space; other calls wait meanwhile. */
  rewrite(): Promise<{ readonly before: number; readonly after: number; readonly ms: number }>;
  /** Rows and bytes of each table including its indexes, by name. @param signal ends the wait */
  tables(signal: AbortSignal): Promise<ReadonlyMap<string, Space>>;
}

export interface KeeperSources extends Omit<Engine, "rewrite" | "isAlone" | "signals" | "members" | "urgent"> {
  readonly view: ExtensionView<Retention>;
  /** Condition of each deletion of rows; `undefined`: another gateway cleans them. @param isAsked a person asked for the cleaning */
  readonly fence: (isAsked: boolean) => Promise<Condition | undefined>;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn">;
  /** State directory of the gateway. */
  readonly stateDir: () => string;
  /** Stops the work between two batches. */
  readonly signal: AbortSignal;
}

type Usage = ResultOf<typeof contract.usage>;
type Cleaned = ResultOf<typeof contract.clean>["items"];

export interface Keeper {
  /** Concurrent callers share one result. */
  usage(): Promise<Usage>;
  /** One run at a time. A rule that fails is logged and does not stop the others. @param isAsked default: nobody asked for it */
  clean(dryRun: boolean, isAsked?: boolean): Promise<Cleaned>;
}

export function createKeeper(sources: KeeperSources): Keeper {
  const { storage, space, tables, view, fence, clock, log, stateDir, signal } = sources;
  const turns = new Turns();

  async function count(rule: ExpiringRows): Promise<number> {
    const { sql, params = [] } = counting(rule, clock.now());
    return expiredOf(rule, (await storage.get<{ total: number; old: number }>(sql, params)) ?? NONE);
  }

  async function remove(rule: ExpiringRows, held: Condition): Promise<number> {
    let deleted = 0;
    for (let isMore = true; isMore && !signal.aborted;) {
      const results = await storage.transaction(deletions(rule, clock.now(), held));
      deleted += results.reduce((sum, { changes }) => sum + changes, 0);
      isMore = results.some(({ changes }) => changes === BATCH);
      if (isMore) await pause(PAUSE_MS, clock, signal);
    }
    return deleted;
  }

  async function cleanAll(dryRun: boolean, isAsked: boolean): Promise<Cleaned> {
    const present = new Set(await tablesOf(storage));
    const held = dryRun ? undefined : await fence(isAsked);
    const cleanOne = async ({ rows = [], clean }: Retention) => {
      let deleted = (await clean?.(dryRun)) ?? 0;
      for (const rule of rows) {
        if (!present.has(rule.table)) continue; // the table is not created yet
        if (dryRun) deleted += await count(rule);
        else if (held) deleted += await remove(rule, held);
      }
      return deleted;
    };
    const items: { id: string; deleted: number }[] = [];
    for (const one of view.list()) {
      if (signal.aborted) break;
      try {
        items.push({ id: one.id, deleted: await view.call(one, cleanOne) });
      } catch (err) {
        log.warn(
          { err, id: one.id, plugin: one.plugin },
          "expired data could not be deleted; retrying within the hour",
        );
      }
    }
    const gone = items.filter(({ deleted }) => deleted > 0);
    if (dryRun) return items;
    await shrink();
    if (gone.length > 0)
      log.info(Object.fromEntries(gone.map(({ id, deleted }) => [id, deleted])), "deleted expired data");
    return items;
  }

  async function shrink(): Promise<void> {
    let { freeBytes, givesBack } = await space("read");
    while (givesBack && freeBytes > KEPT_FREE && !signal.aborted) {
      ({ freeBytes, givesBack } = await space("shrink"));
      await pause(PAUSE_MS, clock, signal);
    }
  }

  async function itemOf({ id, plugin, value }: Contribution<Retention>, spaces: ReadonlyMap<string, Space>) {
    const { tables: names = [], files = [], holds, rule } = value;
    const item = { id, plugin, tables: [...names], files: [...files], holds, rule };
    const amounts = [
      ...names.flatMap((table) => spaces.get(table) ?? []),
      ...(await Promise.all(files.map((file) => fileSpace(stateDir(), file)))),
    ];
    return { ...item, ...sum(amounts) };
  }

  async function measure(): Promise<Usage> {
    const { bytes, freeBytes, givesBack } = await space("read");
    const { location } = storage;
    const spaces = await tables(signal);
    const items: StorageItem[] = [];
    for (const one of view.list()) items.push(await itemOf(one, spaces));
    const named = new Set(items.flatMap((item) => item.tables));
    for (const [table, amount] of spaces)
      if (!named.has(table))
        items.push({ id: table, tables: [table], files: [], holds: NOBODYS, rule: "never deleted", ...amount });
    return { location, bytes, freeBytes, givesBack, items: items.toSorted((one, other) => other.bytes - one.bytes) };
  }
  let measuring: Promise<Usage> | undefined;

  return {
    clean: (dryRun, isAsked = false) => turns.take("clean", () => cleanAll(dryRun, isAsked)),
    usage: () => (measuring ??= measure().finally(() => (measuring = undefined))),
  };
}

const NONE = { total: 0, old: 0 };
const NOBODYS = "table of no enabled plugin";

const TABLES = sqlFor(({ name }) =>
  name === "sqlite"
    ? "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
    : "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
);

async function tablesOf(storage: Storage): Promise<string[]> {
  return (await storage.all<{ name: string }>(TABLES)).map(({ name }) => name);
}
