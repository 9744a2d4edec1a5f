/** Watches files and directories that may be missing, appear, and be replaced. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, lazy, type Stop, Turns } from "@svc/sdk";

const watcherCode = lazy(() => import("chokidar"));

/** What is watched at a time. */
export interface WatchedPlaces {
  /** Differs when other places are to be watched, or other directories have the same names. */
  readonly key: string;
  /** Existing directories, whose entries are watched. */
  readonly roots: readonly string[];
  /** Whether changes of this path do not count. */
  readonly ignored: (path: string) => boolean;
  /** Must keep their size and time for `stableMs` before a change counts. */
  readonly files: ReadonlySet<string>;
}

export interface WatchOptions {
  /** Called at the start and after each change. */
  places(): Promise<WatchedPlaces>;
  /** Milliseconds of quiet after the last event; called for each event. */
  quietMs(): number;
  readonly stableMs: number;
  /** Called once for each settled change, and once more when the places changed. The next call waits until this one is done. */
  changed(): void | Promise<void>;
  /** Called when changes may be missed from now on. */
  failed(error: unknown): void;
  readonly clock: Clock;
}

/** Ready when this resolves; earlier changes are not reported. @returns stops it; safe to call twice, also within `changed` */
export async function watchPlaces(options: WatchOptions): Promise<Stop> {
  const { clock, stableMs, failed } = options;
  const turns = new Turns();
  let watched: (WatchedPlaces & { close(): Promise<void> }) | undefined;
  let following: Promise<boolean>;
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
  async function open({ roots, ignored, files }: WatchedPlaces): Promise<() => Promise<void>> {
    const { watch } = await watcherCode();
    const watcher = watch([...roots], {
      depth: 0,
      ignored,
      ignoreInitial: true,
      atomic: false,
      ignorePermissionErrors: true,
    });
    watcher.on("all", schedule);
    // chokidar tells of no change when a file takes the place of a directory between two of its looks.
    watcher.on("raw", (_event, name, about) => {
      const { watchedPath } = about as { readonly watchedPath?: string };
      if (watchedPath && name && files.has(join(watchedPath, name))) schedule();
    });
    watcher.on("error", failed);
    await new Promise<void>((ready) => watcher.once("ready", ready));
    return () => watcher.close();
  }

  following = follow();
  await following;
  return () => {
    cancelTimer();
    return (stopped ??= following.then(() => watched?.close()));
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
