/**
 * Reports when the files of a plugin were saved.
 *
 * `watchPlaces` of the SDK does not fit: it waits too long for a saved file, and relies on the events of the operating system.
 */
import { stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";

/** Milliseconds of quiet after the last event: an editor may write a file in steps. Choice: half a second is the whole budget. */
const QUIET_MS = 30;

/** Milliseconds in which the watcher does not tell of a second change of a file; it is looked for after them. */
const BLIND_MS = 60;

/** Milliseconds between two checks of all files: a busy machine or a network drive may report no event. Choice: rare enough to cost nothing. */
const CHECK_MS = 2_000;

/** Directories whose files are no part of what runs. */
const APART = new Set(["node_modules", "dist", "coverage", "test", "tests"]);

/** Whether a change of this file means nothing to a running plugin. Pure. @param built its entry lies in `dist` */
export function isApart(root: string, path: string, built: boolean): boolean {
  const segments = relative(root, path).split(sep);
  const apart = (name: string) => name.startsWith(".") || (APART.has(name) && !(built && name === "dist"));
  return (segments[0] !== "" && segments.some(apart)) || /(\.md|\.map|\.d\.ts|\.test\.[cm]?[jt]s|~)$/.test(path);
}

export interface WatchSourcesOptions {
  readonly root: string;
  /** What runs lies in `dist`: it is watched as well. */
  readonly built: boolean;
  /** Told once for what was saved together; the next time after it has settled. @param at monotonic ms of the first event */
  changed(at: number): Promise<void>;
  failed(error: unknown): void;
}

/** Ready when this resolves. @returns stops it; safe to call twice */
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
    if (since !== undefined) tellIn(QUIET_MS); // saved meanwhile
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

/** Another one when a file was saved, added or taken away. */
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
