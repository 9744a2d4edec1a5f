/** Notices when the transforms directory changes, comes into being or goes away. */
import { existsSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type Clock, lazy, type Logger, type Stop, Turns } from "@svc/sdk";
import { isInside } from "@svc/sdk/files";

const watcherCode = lazy(() => import("chokidar"));

/** Milliseconds without an event. */
const QUIET_MS = 100;

export interface WatchOptions {
  readonly root: string;
  /** Absolute or relative to `root`. */
  readonly directory: string;
  /** Called once for each settled change, and once more when other places came to be watched. */
  changed(): void;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Begins to watch; ready when this resolves. Starts above the directory, so that it may be missing, appear, and be replaced.
 * @returns stops it; safe to call twice
 */
export async function watchTransforms({ root, directory, changed, clock, log }: WatchOptions): Promise<Stop> {
  const place = resolve(root, directory);
  const turns = new Turns();
  let watched: { readonly key: string; close(): Promise<void> } | undefined;
  let cancelTimer = () => {};
  let stopped: Promise<void> | undefined;

  const failed = (err: unknown) =>
    log.error({ err }, "the transforms directory cannot be watched; changes need a reload of the configuration");

  function schedule(): void {
    if (stopped) return;
    cancelTimer();
    cancelTimer = clock.setTimeout(() => void turns.take("", deliver).catch(failed), QUIET_MS);
  }

  async function deliver(): Promise<void> {
    if (stopped) return;
    changed();
    if (await follow()) schedule(); // the new places may have changed before they were watched
  }

  /** Watches the places there are now. @returns whether they differ from those before */
  async function follow(): Promise<boolean> {
    const real = await realpath(place).catch(() => place);
    const roots = [...new Set([anchorOf(root), ...(real === place ? [] : [real])])];
    const inode = (await stat(real).catch(() => undefined))?.ino; // a directory that takes its place is another one
    const key = JSON.stringify([roots, real, inode]);
    if (stopped || key === watched?.key) return false;
    await watched?.close(); // first: chokidar shares what watches a path, also where another directory has that name now
    watched = { key, close: await open(roots, [place, real]) };
    return true;
  }

  /** Opens a new watcher for each set of places: chokidar, told to forget a directory, forgets what is below, too. */
  async function open(roots: string[], places: readonly string[]): Promise<() => Promise<void>> {
    const { watch } = await watcherCode();
    const watcher = watch(roots, {
      ignored: (path) => isIgnored(path, places),
      followSymlinks: false,
      ignoreInitial: true,
      atomic: false,
      ignorePermissionErrors: true,
    });
    watcher.on("all", schedule);
    // chokidar tells of no change when an entry takes the place of one of another kind between two of its looks.
    watcher.on("raw", (_event, name, about) => {
      const { watchedPath } = about as { readonly watchedPath?: string };
      if (watchedPath && name && !isIgnored(join(watchedPath, name), places)) schedule();
    });
    watcher.on("error", failed);
    await new Promise<void>((ready) => watcher.once("ready", ready));
    return () => watcher.close();
  }

  await turns.take("", follow);
  return () => {
    cancelTimer();
    return (stopped ??= turns.take("", async () => watched?.close()));
  };
}

/** The nearest directory that is there, from the one that holds the configuration upwards. */
function anchorOf(root: string): string {
  let anchor = dirname(dirname(root));
  while (!existsSync(anchor) && dirname(anchor) !== anchor) anchor = dirname(anchor);
  return anchor;
}

/** Only what is on the way to a place, or below it, counts. */
function isIgnored(path: string, places: readonly string[]): boolean {
  return !places.some((place) => isInside(path, place) || (isInside(place, path) && !isHidden(path)));
}

function isHidden(path: string): boolean {
  const name = basename(path);
  return name === "node_modules" || name.startsWith(".");
}
