/** Notices when the transforms directory changes, comes into being or goes away. */
import { existsSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type { Clock, Logger, Stop } from "@svc/sdk";
import { isInside, type WatchedPlaces, watchPlaces } from "@svc/sdk/files";

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

/** Begins to watch; ready when this resolves. @returns stops it; safe to call twice */
export function watchTransforms({ root, directory, changed, clock, log }: WatchOptions): Promise<Stop> {
  return watchPlaces({
    clock,
    changed,
    quietMs: () => QUIET_MS,
    places: () => placesOf(root, resolve(root, directory)),
    failed: (err) =>
      log.error({ err }, "the transforms directory cannot be watched; changes need a reload of the configuration"),
  });
}

/** Watches from above the directory, so that it may be missing, appear, and be replaced. */
async function placesOf(root: string, place: string): Promise<WatchedPlaces> {
  const real = await realpath(place).catch(() => place);
  const roots = [...new Set([anchorOf(root), ...(real === place ? [] : [real])])];
  const inode = (await stat(real).catch(() => undefined))?.ino; // a directory that takes its place is another one
  return { key: JSON.stringify([roots, real, inode]), roots, ignored: (path) => isIgnored(path, [place, real]) };
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
