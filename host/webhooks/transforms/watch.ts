/** Notices when the transforms directory changes, comes into being or goes away. */
import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type { Clock, Logger, Stop } from "@svc/sdk";
import { isInside } from "./path-check.ts";

export interface WatchOptions {
  readonly root: string;
  /** Absolute or relative to `root`. */
  readonly directory: string;
  /** Told once for each change that has settled. */
  changed(): void;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds without an event. Default 100. */
  readonly quietMs?: number;
}

/**
 * Begins to watch; ready when this resolves. Starts above the directory, so that it may be missing, appear, and be replaced.
 * @returns stops it; safe to call twice
 */
export async function watchTransforms(options: WatchOptions): Promise<Stop> {
  const { clock, log, quietMs = 100 } = options;
  const place = resolve(options.root, options.directory);
  let watched: { readonly key: string; close(): Promise<void> } | undefined;
  let cancelTimer = () => {};
  let delivering: Promise<void> = Promise.resolve();
  let stopped: Promise<void> | undefined;

  function schedule(): void {
    if (stopped) return;
    cancelTimer();
    cancelTimer = clock.setTimeout(() => (delivering = delivering.then(deliver)), quietMs);
  }

  async function deliver(): Promise<void> {
    if (stopped) return;
    if (await follow()) schedule(); // what is new may have changed before it was watched
    if (!stopped) options.changed();
  }

  /** Watches the places there are now. @returns whether they are others than before */
  async function follow(): Promise<boolean> {
    const real = await realpath(place).catch(() => place);
    const anchors = [...new Set([anchorOf(options.root), ...(real === place ? [] : [real])])];
    const key = JSON.stringify([anchors, real]);
    if (stopped || key === watched?.key) return false;
    const former = watched;
    watched = { key, close: await open(anchors, [place, real]) };
    await former?.close();
    if (stopped) await watched.close();
    return true;
  }

  async function open(anchors: readonly string[], places: readonly string[]): Promise<() => Promise<void>> {
    const { watch } = await import("chokidar");
    const watcher = watch([...anchors], {
      ignoreInitial: true,
      atomic: false,
      followSymlinks: false,
      ignorePermissionErrors: true,
      ignored: (path) => isIgnored(path, places),
    });
    watcher.on("all", () => schedule());
    watcher.on("error", (err) =>
      log.error({ err }, "the transforms directory cannot be watched; changes need a reload of the configuration"),
    );
    await new Promise<void>((ready) => watcher.once("ready", ready));
    return () => watcher.close();
  }

  await follow();
  return () => {
    cancelTimer();
    return (stopped ??= Promise.all([delivering, watched?.close()]).then(() => {}));
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
  return !places.some((place) => isInside(place, path) || (isInside(path, place) && !isHidden(path)));
}

function isHidden(path: string): boolean {
  const name = basename(path);
  return name === "node_modules" || name.startsWith(".");
}
