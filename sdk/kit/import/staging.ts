/**
 * The directory in which a new state is built, and the switch to it. A kill at any moment leaves the former state or the new one.
 */
import { chmod, copyFile, cp, lstat, mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isAlive } from "@svc/sdk/files";
import { hasCode } from "../files/index.ts";
import type { CopiedFile, ImportItem } from "./source.ts";

/** Suffix of the complete new state during the switch. A gateway that finds it and no state directory finishes the switch. */
const READY = ".imported";
const STAGING = /^\.import-(\d+)-/;

/**
 * Creates the directory, mode 0700: beside the state directory, or for a dry run below the directory for temporary files. Removes
 * those of imports that were killed.
 */
export async function createStaging(stateDir: string, id: string, dryRun: boolean): Promise<string> {
  const [parent, name] = [dirname(stateDir), basename(stateDir)];
  if (dryRun) return mkdtemp(join(tmpdir(), "svc-import-"));
  await mkdir(parent, { recursive: true, mode: 0o700 });
  for (const entry of await readdir(parent)) {
    const pid = entry.startsWith(name) ? STAGING.exec(entry.slice(name.length))?.[1] : undefined;
    if (pid !== undefined && !isAlive(Number(pid))) await removeTree(join(parent, entry));
  }
  const ready = `${stateDir}${READY}`;
  if (await isThere(stateDir)) await removeTree(ready);
  else if (await isThere(ready)) await rename(ready, stateDir);
  const staging = `${stateDir}.import-${process.pid}-${id}`;
  await mkdir(staging, { mode: 0o700 });
  return staging;
}

/** Copies a state directory that no gateway uses. */
export async function copyState(stateDir: string, staging: string): Promise<void> {
  if (!(await isThere(stateDir))) return;
  const filter = async (path: string) => {
    const stats = await stat(path).catch(() => undefined); // a link to nothing
    return stats === undefined || stats.isFile() || stats.isDirectory(); // no sockets
  };
  await cp(stateDir, staging, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true, filter });
}

/** Copies files of the source, mode 0600. Links and special files in a directory are left out. What is here stays. */
export async function copyFiles(files: readonly CopiedFile[], staging: string): Promise<ImportItem[]> {
  const items: ImportItem[] = [];
  for (const { from, to, without = [] } of files) {
    await mkdir(dirname(join(staging, to)), { recursive: true, mode: 0o700 });
    items.push({ kind: "file", id: to, action: "take", added: await copyTree(from, join(staging, to), without) });
  }
  return items;
}

/** @returns the number of files */
async function copyTree(from: string, to: string, without: readonly string[]): Promise<number> {
  const stats = await lstatOf(from);
  if (stats?.isFile() && !(await isThere(to))) {
    await copyFile(from, to);
    await chmod(to, 0o600);
    return 1;
  }
  if (!stats?.isDirectory()) return 0;
  await mkdir(to, { recursive: true, mode: 0o700 });
  const names = (await readdir(from)).filter((name) => !without.includes(name));
  let count = 0;
  for (const name of names) count += await copyTree(join(from, name), join(to, name), without);
  return count;
}

/** Choice: attempts, and milliseconds between them, while the gateway of a killed import still stops in the directory. */
const ATTEMPTS = 40;
const PAUSE_MS = 250;

/** Removes a directory in which a program may still write. */
export async function removeTree(path: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await rm(path, { recursive: true, force: true });
    } catch (error) {
      if (attempt === ATTEMPTS || !hasCode(error, "ENOTEMPTY", "EBUSY")) throw error;
      await pause(PAUSE_MS);
    }
}

function lstatOf(path: string) {
  return lstat(path).catch(() => undefined);
}

/**
 * Makes the new state the state.
 * @returns where the former state is; `undefined`: there was none
 */
export async function switchTo(staging: string, stateDir: string, id: string): Promise<string | undefined> {
  const ready = `${stateDir}${READY}`;
  if (!(await isThere(stateDir))) {
    await rename(staging, stateDir);
    return undefined;
  }
  const former = `${stateDir}.before-import-${id}`;
  await rename(staging, ready);
  await rename(stateDir, former);
  await rename(ready, stateDir);
  return former;
}

export async function isThere(path: string): Promise<boolean> {
  return (await lstatOf(path)) !== undefined;
}
