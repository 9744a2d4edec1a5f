/** Notices when the configuration changes on disk. Spec: http/config.md §5; choice: included files count, too. */
import { existsSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Clock, Logger, Stop } from "@svc/sdk";

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
export async function watchConfig(options: WatchOptions): Promise<Stop> {
  const { clock, log, stableMs = DEFAULT_STABLE_MS } = options;
  let watched: Watched | undefined;
  let cancelTimer: (() => void) | undefined;
  let delivering: Promise<void> = Promise.resolve();
  let stopped: Promise<void> | undefined;

  function schedule(): void {
    if (stopped) return;
    cancelTimer?.();
    cancelTimer = clock.setTimeout(() => void settle(), options.debounceMs());
  }

  async function settle(): Promise<void> {
    const before = await fingerprint(watched?.files);
    if (stopped) return;
    cancelTimer?.();
    cancelTimer = clock.setTimeout(() => {
      delivering = delivering.then(() => deliver(before));
    }, stableMs);
  }

  async function deliver(before: string): Promise<void> {
    if (stopped) return;
    if ((await fingerprint(watched?.files)) !== before) return schedule();
    try {
      await options.changed();
    } catch (err) {
      log.error({ err }, "a change of the configuration could not be looked at");
    }
    if (await follow()) schedule(); // what is new may have changed before it was watched
  }

  /** Watches what the configuration is made of now. @returns whether that is something else than before */
  async function follow(): Promise<boolean> {
    const places = await placesOf(options.files());
    if (stopped || places.key === watched?.key) return false;
    const former = watched;
    watched = { ...places, close: await open(places) };
    await former?.close();
    if (stopped) await watched.close();
    return true;
  }

  /** A watcher of its own for each set of places: one that is told to forget a directory forgets what is below, too. */
  async function open({ files, directories }: Places): Promise<() => Promise<void>> {
    const { watch } = await import("chokidar");
    const watcher = watch([...directories], {
      depth: 0,
      ignoreInitial: true,
      atomic: false,
      ignorePermissionErrors: true,
      ignored: (path) => !files.has(path) && !directories.has(path),
    });
    watcher.on("all", () => schedule());
    watcher.on("error", (err) =>
      log.error({ err }, "the configuration cannot be watched; changes of the file need a restart of the gateway"),
    );
    await new Promise<void>((resolve) => watcher.once("ready", resolve));
    return () => watcher.close();
  }

  await follow();

  return () => {
    cancelTimer?.();
    return (stopped ??= Promise.resolve(watched?.close()));
  };
}

/** What has to be watched. */
interface Places {
  /** Files, and directories that are not there yet. */
  readonly files: ReadonlySet<string>;
  /** Directories that tell of them. */
  readonly directories: ReadonlySet<string>;
  /** Other places, or others by the same names, have another key. */
  readonly key: string;
}

interface Watched extends Places {
  close(): Promise<void>;
}

async function placesOf(paths: readonly string[]): Promise<Places> {
  const names = await everyName(paths);
  const places = [...names].map(placeOf);
  const files = new Set([...names, ...places.flatMap(({ awaited }) => awaited)]);
  const directories = new Set(places.map(({ directory }) => directory));
  const inodes = await Promise.all(
    [...directories].map(async (path) => (await stat(path).catch(() => undefined))?.ino),
  );
  return { files, directories, key: JSON.stringify([[...files], [...directories], inodes]) };
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

async function fingerprint(files: ReadonlySet<string> = new Set()): Promise<string> {
  const facts = await Promise.all(
    [...files].map(async (file) => {
      const found = await stat(file).catch(() => undefined);
      return found ? [file, found.ino, found.size, found.mtimeMs] : [file];
    }),
  );
  return JSON.stringify(facts);
}
