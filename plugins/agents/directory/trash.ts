/** Moves the directories of deleted agents to `<state>/trash`, and deletes them there after 30 days. */
import { syncDirectory } from "@svc/kit/files";
import { messageOf } from "@svc/sdk/errors";
import { isInside } from "@svc/sdk/files";
import { lstat, readdir, realpath, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Places } from "./workspace.ts";
import { makeDirectory } from "./workspace-seed.ts";

/** Result of discarding the directories of a deleted agent. */
export interface Discarded {
  /** Their new directory; absent when nothing was moved. */
  readonly trash?: string;
  /** Everything left in place, with the reason. */
  readonly kept: readonly string[];
}

/**
 * Moves directories to one new directory of the trash. Never throws: a directory that cannot be moved stays in place.
 * Choice: directories that contain files of other agents or of the gateway stay too, and so do directories on another
 * file system, where a move would be a copy that can fail half-way.
 * @param directories path by name in the trash
 * @param inUse directories that must not be moved
 * @param stamp e.g. `ada-2026-01-31T10-00-00.000Z`
 */
export async function discard(
  directories: Readonly<Record<string, string>>,
  inUse: readonly string[],
  stamp: string,
  { stateDir, home }: Places,
): Promise<Discarded> {
  const trash = join(stateDir, "trash", stamp);
  const kept: string[] = [];
  let moved = 0;
  const protectedPaths = await Promise.all([stateDir, home, ...inUse].map(realOrSame));
  for (const [name, path] of Object.entries(directories)) {
    try {
      const stats = await lstat(path).catch(() => undefined);
      if (!stats) continue;
      // A link itself is moved; its target does not belong to the agent.
      const place = stats.isSymbolicLink()
        ? join(await realOrSame(dirname(path)), basename(path))
        : await realOrSame(path);
      const reason = protectedPaths.find((other) => isInside(place, other));
      if (reason !== undefined) {
        kept.push(`${path}: ${reason} is in use`);
        continue;
      }
      await makeDirectory(trash);
      await rename(place, join(trash, name));
      moved += 1;
      await syncDirectory(dirname(place));
      await syncDirectory(trash);
    } catch (error) {
      kept.push(`${path}: ${messageOf(error)}`);
    }
  }
  return moved === 0 ? { kept } : { trash, kept };
}

/** Choice: milliseconds the directories of a deleted agent are kept. */
const KEEP_MS = 30 * 86_400_000;

/** Deletes directories moved to the trash 30 or more days ago. @returns number of deleted agents whose files were removed */
export async function emptyTrash(stateDir: string, now: number, dryRun: boolean): Promise<number> {
  const trash = join(stateDir, "trash");
  let gone = 0;
  for (const name of await readdir(trash).catch(() => [])) {
    const path = join(trash, name);
    const stats = await lstat(path).catch(() => undefined);
    if (!stats || stats.mtimeMs > now - KEEP_MS) continue;
    if (!dryRun) await rm(path, { recursive: true, force: true });
    gone += 1;
  }
  return gone;
}

/** Follows links as far as the path exists. */
export async function realOrSame(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(await realOrSame(parent), basename(path));
  }
}
