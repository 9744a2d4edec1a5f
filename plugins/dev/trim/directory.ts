/** A new directory that is written whole, or leaves nothing behind. */
import { rmSync } from "node:fs";
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PackageFile } from "./package-files.ts";

/** There is something in it already. */
export class OccupiedDirectory extends Error {
  override readonly name = "OccupiedDirectory";
}

/** What the directory is filled with. */
export interface NewDirectory {
  /** Copies files of `from` to a directory in the new one, as they are, mode included. */
  copy(from: string, files: readonly PackageFile[], to: string): Promise<void>;
  write(name: string, text: string): Promise<void>;
}

/** @throws OccupiedDirectory */
export async function refuseOccupied(path: string): Promise<void> {
  const present = await readdir(path).catch(() => []); // not there, or no directory: making it says so
  if (present.length === 0) return;
  throw new OccupiedDirectory(`${path} is not empty\nNext: name a directory that does not exist yet`);
}

/**
 * Makes the directory, or takes an empty one, and has it filled.
 * Interrupted or failed, all that was made is removed again: an empty directory that was there stays.
 * @returns what `fill` does. @throws OccupiedDirectory; whatever `fill` throws
 */
export async function createDirectory<T>(path: string, fill: (directory: NewDirectory) => Promise<T>): Promise<T> {
  await refuseOccupied(path);
  const made = await mkdir(path, { recursive: true });
  const undo = () => {
    if (made !== undefined) return rmSync(made, { recursive: true, force: true });
    for (const name of created) rmSync(join(path, name), { recursive: true, force: true });
  };
  const created = new Set<string>();
  const interrupted = () => {
    undo();
    process.exit(130);
  };
  for (const signal of SIGNALS) process.once(signal, interrupted);
  try {
    return await fill(newDirectory(path, (name) => void created.add(name)));
  } catch (error) {
    undo();
    throw error;
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupted);
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

function newDirectory(path: string, creates: (name: string) => void): NewDirectory {
  const first = (name: string) => creates(name.split(/[\\/]/)[0] ?? name);
  return {
    async copy(from, files, to) {
      first(to);
      for (const directory of new Set(files.map((file) => dirname(file.path))))
        await mkdir(join(path, to, directory), { recursive: true });
      await Promise.all(files.map((file) => copyFile(join(from, file.path), join(path, to, file.path))));
    },
    async write(name, text) {
      first(name);
      await writeFile(join(path, name), text);
    },
  };
}
