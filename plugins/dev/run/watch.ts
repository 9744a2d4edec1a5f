/**
 * Reports when files of a plugin are saved.
 *
 * Does not use `watchPlaces` of the SDK, which waits too long after a save and relies on events of the operating
 * system.
 */
import { stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";

/**
 * Milliseconds without an event before a reload, because editors may write in steps. Choice: a save takes effect within
 * half a second, including this wait.
 */
const QUIET_MS = 30;

/** Milliseconds in which the watcher misses a second change of a file; afterwards all files are checked. */
const BLIND_MS = 60;

/**
 * Interval of a check of all files in milliseconds: a busy machine or network drive may report no event. Choice: rare
 * enough to cost nothing.
 */
const CHECK_MS = 2_000;

/** Directories without run-time code. */
const APART = new Set(["node_modules", "dist", "coverage", "test", "tests"]);

/** Whether a change of this file is irrelevant to a running plugin. Pure. @param built the entry is in `dist` */
export function isApart(root: string, path: string, built: boolean): boolean {
  const segments = relative(root, path).split(sep);
  const apart = (name: string) => name.startsWith(".") || (APART.has(name) && !(built && name === "dist"));
  return (segments[0] !== "" && segments.some(apart)) || /(\.md|\.map|\.d\.ts|\.test\.[cm]?[jt]s|~)$/.test(path);
}

export interface WatchSourcesOptions {
  readonly root: string;
  /** The entry is in `dist`, which is then watched, too. */
  readonly built: boolean;
  /** Called once per group of saved files; calls do not overlap. @param at monotonic ms of the first event */
  changed(at: number): Promise<void>;
  failed(error: unknown): void;
}

/** Resolves when watching has started. @returns a function that stops watching; safe to call twice */
export async function watchSources({
  root,
  built,
  changed,
  failed,
}: WatchSourcesOptions): Promise<() => Promise<void>> {
  const { watch } = await import("chokidar");
  const watcher = watch(root, { ignoreInitial: true, atomic: false, ignored: (path) => isApart(root, path, built) });
  await new Promise<void>((ready) => watcher.once("ready", ready));
  let told = await fingerprint(watcher.getWatched());
  let since: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let telling = false;

  const tellIn = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => void tell().catch(failed), ms);
  };

  async function tell(): Promise<void> {
    if (telling) return;
    telling = true;
    const at = since ?? performance.now();
    since = undefined;
    const now = await fingerprint(watcher.getWatched());
    if (now !== told) {
      told = now;
      await changed(at).catch(failed);
      tellIn(BLIND_MS);
    }
    telling = false;
    if (since !== undefined) tellIn(QUIET_MS); // files were saved meanwhile
  }

  watcher.on("all", () => {
    since ??= performance.now();
    tellIn(QUIET_MS);
  });
  watcher.on("error", failed);
  const checks = setInterval(() => {
    if (since === undefined) tellIn(0);
  }, CHECK_MS);
  checks.unref();
  return async () => {
    clearInterval(checks);
    clearTimeout(timer);
    await watcher.close();
  };
}

/** A text that changes when a file is saved, added or removed. */
async function fingerprint(watched: Readonly<Record<string, readonly string[]>>): Promise<string> {
  const paths = Object.entries(watched).flatMap(([directory, names]) => names.map((name) => join(directory, name)));
  const facts = await Promise.all(
    paths.toSorted().map(async (path) => {
      const found = await stat(path).catch(() => undefined);
      return found?.isFile() ? [path, found.ino, found.size, found.mtimeMs] : [path];
    }),
  );
  return JSON.stringify(facts);
}
