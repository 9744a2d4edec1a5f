/** Watches the transforms directory: changes, creation and deletion. */
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
  /** Called once per settled change, and again when the set of watched places changed. */
  changed(): void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Starts watching; the watch is active when this resolves. @returns a function that stops it; safe to call twice */
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

/** Watches from a directory above, so that the transforms directory may be missing, appear, and be replaced. */
async function placesOf(root: string, place: string): Promise<WatchedPlaces> {
  const real = await realpath(place).catch(() => place);
  const roots = [...new Set([anchorOf(root), ...(real === place ? [] : [real])])];
  const inode = (await stat(real).catch(() => undefined))?.ino; // distinguishes a replaced directory
  return { key: JSON.stringify([roots, real, inode]), roots, ignored: (path) => isIgnored(path, [place, real]) };
}

/** The nearest existing directory, upwards from the one that contains the directory of the configuration. */
function anchorOf(root: string): string {
  let anchor = dirname(dirname(root));
  while (!existsSync(anchor) && dirname(anchor) !== anchor) anchor = dirname(anchor);
  return anchor;
}

/** Only paths above a place or below it count. */
function isIgnored(path: string, places: readonly string[]): boolean {
  return !places.some((place) => isInside(path, place) || (isInside(place, path) && !isHidden(path)));
}

function isHidden(path: string): boolean {
  const name = basename(path);
  return name === "node_modules" || name.startsWith(".");
}
