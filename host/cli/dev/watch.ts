/** Tells when the files of a plugin were saved. */
import { relative, sep } from "node:path";

/** Milliseconds of quiet after the last event: an editor may write a file in steps. Choice: half a second is the whole budget. */
const QUIET_MS = 30;

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
  let since: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let telling = false;

  async function tell(): Promise<void> {
    if (telling || since === undefined) return;
    const at = since;
    since = undefined;
    telling = true;
    await changed(at).catch(failed);
    telling = false;
    void tell(); // what was saved meanwhile
  }

  watcher.on("all", () => {
    since ??= performance.now();
    clearTimeout(timer);
    timer = setTimeout(() => void tell(), QUIET_MS);
  });
  watcher.on("error", failed);
  await new Promise<void>((ready) => watcher.once("ready", ready));
  return async () => {
    clearTimeout(timer);
    await watcher.close();
  };
}
