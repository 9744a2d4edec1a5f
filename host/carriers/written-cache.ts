/** Cache of the declarations of plugins without a build, keyed by the content of their packages. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { WrittenPlugin } from "./written.ts";

/** Maximum number of package files read at a start. Choice: a larger package is expected to have a build. */
const MOST_FILES = 200;

export function isTypeScript(entry: string): boolean {
  return /\.[cm]?ts$/.test(entry);
}

/** @returns the path of the cache file; `undefined`: the package has too many files, or cannot be read */
export function cachedFile(cacheDir: string, id: string, directory: string): string | undefined {
  try {
    const files = filesBelow(directory);
    if (files.length > MOST_FILES) return undefined;
    const hash = createHash("sha256");
    for (const file of files)
      hash
        .update(`${file}\0`)
        .update(readFileSync(join(directory, file)))
        .update("\0");
    return join(cacheDir, "declared", `${id}.${hash.digest("hex").slice(0, 32)}.json`);
  } catch {
    return undefined; // the import reports the problem
  }
}

/** Relative paths in a fixed order, without dependencies and hidden files. */
function filesBelow(directory: string, below = ""): string[] {
  const entries = readdirSync(join(directory, below), { withFileTypes: true })
    .filter(({ name }) => name !== "node_modules" && !name.startsWith("."))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(below, entry.name);
    if (entry.isDirectory()) return filesBelow(directory, path);
    return entry.isFile() ? [path] : [];
  });
}

/** Writes a cache file and removes former ones of the same plugin. Never throws: without the file the code is imported at the start. */
export function keep(file: string, written: WrittenPlugin): void {
  const directory = dirname(file);
  const [id = ""] = basename(file).split(".");
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(directory)) if (name.startsWith(`${id}.`)) rmSync(join(directory, name));
    writeFileSync(`${file}.new`, JSON.stringify(written), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // without the cache the next start is only slower
  }
}
