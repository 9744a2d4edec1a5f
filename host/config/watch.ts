/** Watches the configuration on disk. Spec: http/config.md §5; choice: also watches included files. */
import { existsSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Clock, Logger, Stop } from "@svc/sdk";
import { type WatchedPlaces, watchPlaces } from "@svc/sdk/files";

export interface WatchOptions {
  /** The main file and the included ones; called again after each change. */
  files(): readonly string[];
  /** Milliseconds of quiet after the last event; called each time. `gateway.reload.debounceMs`, default 300. */
  debounceMs(): number;
  /** Called once per settled change, and again when further files are watched. Calls do not overlap. */
  changed(): Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds during which the size and mtime of a file must not change. Default 200. */
  readonly stableMs?: number;
}

const DEFAULT_STABLE_MS = 200;

/**
 * Starts watching. Watches directories instead of files, so that a file may be missing, appear, or be replaced by a
 * rename. Ready when it resolves; earlier changes are not reported. @returns a function that stops watching; safe to
 * call twice
 */
export function watchConfig(options: WatchOptions): Promise<Stop> {
  const { clock, log, stableMs = DEFAULT_STABLE_MS } = options;
  return watchPlaces({
    clock,
    stableMs,
    quietMs: () => options.debounceMs(),
    places: () => placesOf(options.files()),
    changed: () =>
      options
        .changed()
        .catch((err: unknown) => log.error({ err }, "a change of the configuration file could not be processed")),
    failed: (err) =>
      log.error(
        { err },
        "the configuration file cannot be watched; changes take effect after a restart of the gateway",
      ),
  });
}

async function placesOf(paths: readonly string[]): Promise<WatchedPlaces> {
  const names = await everyName(paths);
  const places = [...names].map(placeOf);
  /** Includes directories that do not exist yet. */
  const files = new Set([...names, ...places.flatMap(({ awaited }) => awaited)]);
  const directories = new Set(places.map(({ directory }) => directory));
  const inodes = await Promise.all(
    [...directories].map(async (path) => (await stat(path).catch(() => undefined))?.ino),
  );
  return {
    key: JSON.stringify([[...files], [...directories], inodes]),
    roots: [...directories],
    depth: 0,
    ignored: (path) => !files.has(path) && !directories.has(path),
    files,
  };
}

/** The directory to watch for a file: its parent, or the nearest existing ancestor, where the `awaited` directories will appear. */
function placeOf(path: string): { directory: string; awaited: readonly string[] } {
  const awaited: string[] = [];
  let directory = dirname(path);
  for (; !existsSync(directory) && dirname(directory) !== directory; directory = dirname(directory))
    awaited.push(directory);
  return { directory, awaited };
}

/** The given path and the real path of each file: either may change. */
async function everyName(files: readonly string[]): Promise<ReadonlySet<string>> {
  const names = await Promise.all(
    files.map(async (file) => [resolve(file), await realpath(file).catch(() => resolve(file))]),
  );
  return new Set(names.flat());
}
