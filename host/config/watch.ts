/** Notices when the configuration changes on disk. Spec: http/config.md §5; choice: included files count, too. */
import { existsSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Clock, Logger, Stop } from "@svc/sdk";
import { type WatchedPlaces, watchPlaces } from "@svc/sdk/files";

export interface WatchOptions {
  /** The main file and what it includes; asked anew after each change. */
  files(): readonly string[];
  /** Milliseconds of quiet after the last event; asked anew each time. `gateway.reload.debounceMs`, default 300. */
  debounceMs(): number;
  /** Told once for each settled change, and once more when further files came to be watched. The next one waits until this is done. */
  changed(): Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds a file must keep its size and time. Default 200. */
  readonly stableMs?: number;
}

const DEFAULT_STABLE_MS = 200;

/**
 * Begins to watch. Directories are watched, not files, so that a file may be missing, appear, and be replaced by a
 * rename. Ready when this resolves; what changed before is not told. @returns stops it; safe to call twice
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
        .catch((err: unknown) => log.error({ err }, "a change of the configuration could not be looked at")),
    failed: (err) =>
      log.error({ err }, "the configuration cannot be watched; changes of the file need a restart of the gateway"),
  });
}

async function placesOf(paths: readonly string[]): Promise<WatchedPlaces> {
  const names = await everyName(paths);
  const places = [...names].map(placeOf);
  /** With directories that are not there yet. */
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

/** The directory that tells of a file: its own, or the nearest that is there, which tells of the `awaited` ones. */
function placeOf(path: string): { directory: string; awaited: readonly string[] } {
  const awaited: string[] = [];
  let directory = dirname(path);
  for (; !existsSync(directory) && dirname(directory) !== directory; directory = dirname(directory))
    awaited.push(directory);
  return { directory, awaited };
}

/** Files by the name they are asked for and by the one they really have: either may change. */
async function everyName(files: readonly string[]): Promise<ReadonlySet<string>> {
  const names = await Promise.all(
    files.map(async (file) => [resolve(file), await realpath(file).catch(() => resolve(file))]),
  );
  return new Set(names.flat());
}
