/** Deletes expired data of plugins, and returns free pages of the database to the disk. */
import { type Clock, type Contribution, type ExtensionView, type Logger, pause, type ResultOf, Turns } from "@svc/sdk";
import type { Retention, storage as contract, Storage, StorageItem } from "@svc/sdk/storage";
import { fileSpace, type Space, sum } from "./file-space.ts";
import { BATCH, counting, deletions, expiredOf } from "./retention-sql.ts";
import type { StorageOwner } from "./storage.ts";
import { measureTables } from "./usage-thread.ts";

/** Choice: milliseconds between two batches; bounds the share of database time for deletions. */
const PAUSE_MS = 20;
/** Choice: free bytes that remain in the file for new rows. */
const KEPT_FREE = 4 * 1_048_576;

export interface KeeperSources extends Pick<StorageOwner, "storage" | "space"> {
  readonly view: ExtensionView<Retention>;
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
  /** One run at a time. A rule that fails is logged and does not stop the others. */
  clean(dryRun: boolean): Promise<Cleaned>;
}

export function createKeeper({ storage, space, view, clock, log, stateDir, signal }: KeeperSources): Keeper {
  const turns = new Turns();

  async function cleanOne({ rows = [], clean }: Retention, present: ReadonlySet<string>, dryRun: boolean) {
    let deleted = 0;
    for (const rule of rows) {
      if (!present.has(rule.table)) continue; // the table is not created yet
      if (dryRun) {
        const { sql, params = [] } = counting(rule, clock.now());
        deleted += expiredOf(rule, (await storage.get<{ total: number; old: number }>(sql, params)) ?? NONE);
        continue;
      }
      for (let isMore = true; isMore && !signal.aborted;) {
        const results = await storage.transaction(deletions(rule, clock.now()));
        deleted += results.reduce((sum, { changes }) => sum + changes, 0);
        isMore = results.some(({ changes }) => changes === BATCH);
        if (isMore) await pause(PAUSE_MS, clock, signal);
      }
    }
    return clean === undefined ? deleted : deleted + (await clean(dryRun));
  }

  async function cleanAll(dryRun: boolean): Promise<Cleaned> {
    const present = new Set(await tablesOf(storage));
    const items: { id: string; deleted: number }[] = [];
    for (const one of view.list()) {
      if (signal.aborted) break;
      try {
        items.push({ id: one.id, deleted: await view.call(one, (value) => cleanOne(value, present, dryRun)) });
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
    const { tables = [], files = [], holds, rule } = value;
    const item = { id, plugin, tables: [...tables], files: [...files], holds, rule };
    const amounts = [
      ...tables.flatMap((table) => spaces.get(table) ?? []),
      ...(await Promise.all(files.map((file) => fileSpace(stateDir(), file)))),
    ];
    return { ...item, ...sum(amounts) };
  }

  async function measure(): Promise<Usage> {
    const { bytes, freeBytes, givesBack } = await space("read");
    const { location } = storage;
    const spaces = await measureTables(location, signal);
    const items: StorageItem[] = [];
    for (const one of view.list()) items.push(await itemOf(one, spaces));
    const named = new Set(items.flatMap(({ tables }) => tables));
    for (const [table, amount] of spaces)
      if (!named.has(table))
        items.push({ id: table, tables: [table], files: [], holds: NOBODYS, rule: "never deleted", ...amount });
    return { location, bytes, freeBytes, givesBack, items: items.toSorted((one, other) => other.bytes - one.bytes) };
  }
  let measuring: Promise<Usage> | undefined;

  return {
    clean: (dryRun) => turns.take("clean", () => cleanAll(dryRun)),
    usage: () => (measuring ??= measure().finally(() => (measuring = undefined))),
  };
}

const NONE = { total: 0, old: 0 };
const NOBODYS = "table of no enabled plugin";

async function tablesOf(storage: Storage): Promise<string[]> {
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'";
  return (await storage.all<{ name: string }>(sql)).map(({ name }) => name);
}
