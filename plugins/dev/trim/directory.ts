/** Creates a directory and fills it; a failure leaves nothing behind. */
import { rmSync } from "node:fs";
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PackageFile } from "./package-files.ts";

/** The directory is not empty. */
export class OccupiedDirectory extends Error {
  override readonly name = "OccupiedDirectory";
}

/** Writes files to the new directory. */
export interface NewDirectory {
  /** Copies files from the directory `from` to `to`, a path below the new directory. The files keep their mode. */
  copy(from: string, files: readonly PackageFile[], to: string): Promise<void>;
  write(name: string, text: string): Promise<void>;
}

/** @throws OccupiedDirectory */
export async function refuseOccupied(path: string): Promise<void> {
  const present = await readdir(path).catch(() => []); // may be missing; if the path is a file, `mkdir` fails
  if (present.length === 0) return;
  throw new OccupiedDirectory(`${path} is not empty\nNext: name a directory that does not exist yet`);
}

/**
 * Creates the directory, or uses an empty one, and fills it. On interruption or failure, everything created is removed;
 * an existing empty directory stays.
 * @returns the result of `fill`
 * @throws OccupiedDirectory; errors of `fill`
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
