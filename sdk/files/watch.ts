/** Watches files and directories that may be missing, be created later, or be replaced. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { lazy } from "../lazy.ts";
import type { Clock, Stop } from "../plugin.ts";
import { pause } from "../time.ts";
import { Turns } from "../turns.ts";

const watcherCode = lazy(() => import("chokidar"));

/** Choice: milliseconds until a watcher that is not ready is reopened; doubled each time. */
const READY_MS = 5_000;

/** The paths that are watched. */
export interface WatchedPlaces {
  /** Changes if other paths must be watched, or if other directories have the same names. */
  readonly key: string;
  /** Existing directories. */
  readonly roots: readonly string[];
  /** Number of levels below the entries of `roots` that are also watched; 0: none. Default: all. */
  readonly depth?: number;
  /** Whether changes of this path are ignored. */
  ignored(path: string): boolean;
  /** Files that must keep their size and time for `stableMs` before a change counts. Default: none. */
  readonly files?: ReadonlySet<string>;
}

/** What to watch, and the callbacks. */
export interface WatchPlacesOptions {
  /** Called at the start and after each change. */
  places(): Promise<WatchedPlaces>;
  /** Milliseconds without an event before a change is reported; called for each event. */
  quietMs(): number;
  /** Milliseconds. Default 0. */
  readonly stableMs?: number;
  /** Called once for each settled change, and again if the watched paths changed. Calls never overlap. */
  changed(): void | Promise<void>;
  /** Called when changes may be missed from now on. */
  failed(error: unknown): void;
  readonly clock: Clock;
}

/**
 * Resolves when watching has started; earlier changes are not reported.
 * @returns a function that stops watching; safe to call twice, also within `changed`
 */
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
    if (await following) schedule(); // the new paths may have changed before they were watched
  }

  /** Watches the current places. @returns whether they differ from before */
  async function follow(): Promise<boolean> {
    const places = await options.places();
    if (stopped || places.key === watched?.key) return false;
    // must come first: chokidar shares watchers by path, even if another directory has that name now
    await watched?.close();
    watched = { ...places, close: await open(places) };
    return true;
  }

  /**
   * Opens a new watcher for each set of places: when chokidar unwatches a directory, it also unwatches everything
   * below.
   */
  async function open({ roots, depth, ignored }: WatchedPlaces): Promise<() => Promise<void>> {
    const { watch } = await watcherCode();
    for (let ms = READY_MS; ; ms *= 2) {
      const watcher = watch([...roots], {
        ...(depth !== undefined && { depth }),
        ignored,
        followSymlinks: depth === 0, // deeper links may form a loop
        ignoreInitial: true,
        atomic: false,
        ignorePermissionErrors: true,
      });
      watcher.on("all", schedule);
      // chokidar reports no change if an entry is replaced by one of another kind between two scans.
      watcher.on("raw", (_event, name, about) => {
        const { watchedPath } = about as { readonly watchedPath?: string };
        if (watchedPath && name && !ignored(join(watchedPath, name))) schedule();
      });
      watcher.on("error", failed);
      // chokidar never becomes ready if a file replaces a directory while it is read.
      opening = new AbortController();
      watcher.once("ready", () => opening.abort());
      if (stopped) opening.abort();
      await pause(ms, clock, opening.signal);
      const close = () => {
        watcher.add = () => watcher; // chokidar re-adds entries removed during a scan, even after it was closed
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
    const settled = following.catch(() => false); // `failed` was already called
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
