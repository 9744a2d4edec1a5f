/** Watches files and directories that may be missing, appear, and be replaced. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { lazy } from "../lazy.ts";
import type { Clock, Stop } from "../plugin.ts";
import { pause } from "../time.ts";
import { Turns } from "../turns.ts";

const watcherCode = lazy(() => import("chokidar"));

/** Choice: milliseconds until a watcher that is not ready is opened again; twice as long each time. */
const READY_MS = 5_000;

/** What is watched at a time. */
export interface WatchedPlaces {
  /** Differs when other places are to be watched, or other directories have the same names. */
  readonly key: string;
  /** Existing directories. */
  readonly roots: readonly string[];
  /** How many levels below the entries of `roots` are watched, too; 0: none. Default: all. */
  readonly depth?: number;
  /** Whether changes of this path do not count. */
  ignored(path: string): boolean;
  /** Must keep their size and time for `stableMs` before a change counts. Default none. */
  readonly files?: ReadonlySet<string>;
}

/** What to watch, and whom to call. */
export interface WatchPlacesOptions {
  /** Called at the start and after each change. */
  places(): Promise<WatchedPlaces>;
  /** Milliseconds of quiet after the last event; called for each event. */
  quietMs(): number;
  /** Milliseconds. Default 0. */
  readonly stableMs?: number;
  /** Called once for each settled change, and once more when the places changed. The next call waits until this one is done. */
  changed(): void | Promise<void>;
  /** Called when changes may be missed from now on. */
  failed(error: unknown): void;
  readonly clock: Clock;
}

/** Ready when this resolves; earlier changes are not reported. @returns stops it; safe to call twice, also within `changed` */
export async function watchPlaces(options: WatchPlacesOptions): Promise<Stop> {
  const { clock, stableMs = 0, failed } = options;
  const turns = new Turns();
  let watched: (WatchedPlaces & { close(): Promise<void> }) | undefined;
  let following: Promise<boolean>;
  let opening = new AbortController();
  let cancelTimer = () => {};
  let stopped: Promise<void> | undefined;

  function after(ms: number, work: () => Promise<void>): void {
    if (stopped) return;
    cancelTimer();
    cancelTimer = clock.setTimeout(() => void work().catch(failed), ms);
  }

  const schedule = () => after(options.quietMs(), settle);

  async function settle(): Promise<void> {
    const before = await fingerprint(watched?.files);
    after(stableMs, () => turns.take("deliver", () => deliver(before)));
  }

  async function deliver(before: string): Promise<void> {
    if (stopped) return;
    if ((await fingerprint(watched?.files)) !== before) return schedule();
    await options.changed();
    following = follow();
    if (await following) schedule(); // the new places may have changed before they were watched
  }

  /** Watches what is to be watched now. @returns whether that differs from before */
  async function follow(): Promise<boolean> {
    const places = await options.places();
    if (stopped || places.key === watched?.key) return false;
    await watched?.close(); // first: chokidar shares what watches a path, also where another directory has that name now
    watched = { ...places, close: await open(places) };
    return true;
  }

  /** Opens a new watcher for each set of places: chokidar, told to forget a directory, forgets what is below, too. */
  async function open({ roots, depth, ignored }: WatchedPlaces): Promise<() => Promise<void>> {
    const { watch } = await watcherCode();
    for (let ms = READY_MS; ; ms *= 2) {
      const watcher = watch([...roots], {
        ...(depth !== undefined && { depth }),
        ignored,
        followSymlinks: depth === 0, // links further down may lead in a circle
        ignoreInitial: true,
        atomic: false,
        ignorePermissionErrors: true,
      });
      watcher.on("all", schedule);
      // chokidar tells of no change when an entry takes the place of one of another kind between two of its looks.
      watcher.on("raw", (_event, name, about) => {
        const { watchedPath } = about as { readonly watchedPath?: string };
        if (watchedPath && name && !ignored(join(watchedPath, name))) schedule();
      });
      watcher.on("error", failed);
      // chokidar is never ready when a file takes the place of a directory that it reads.
      opening = new AbortController();
      watcher.once("ready", () => opening.abort());
      if (stopped) opening.abort();
      await pause(ms, clock, opening.signal);
      const close = () => {
        watcher.add = () => watcher; // chokidar adds again what is removed while it looks, also when it is closed
        return watcher.close();
      };
      if (opening.signal.aborted) return close;
      await close();
    }
  }

  following = follow();
  await following;
  return () => {
    cancelTimer();
    opening.abort();
    const settled = following.catch(() => false); // `failed` was told
    return (stopped ??= settled.then(() => watched?.close()));
  };
}

async function fingerprint(files: ReadonlySet<string> = new Set()): Promise<string> {
  const facts = await Promise.all(
    [...files].map(async (file) => {
      const found = await stat(file).catch(() => undefined);
      return found ? [file, found.ino, found.size, found.mtimeMs] : [file];
    }),
  );
  return JSON.stringify(facts);
}
