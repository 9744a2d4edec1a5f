/** What plugins without a build declare, kept in the state directory by the content of their packages. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { WrittenPlugin } from "./written.ts";

/** Files of a package that are read at a start at most. Choice: a package with more has a build. */
const MOST_FILES = 200;

export function isTypeScript(entry: string): boolean {
  return /\.[cm]?ts$/.test(entry);
}

/** @returns where it is kept; `undefined`: the package has too many files, or cannot be read */
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
    return undefined; // importing it says what is wrong
  }
}

/** Relative paths in a fixed order; dependencies and hidden files are left out. */
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

/** Keeps it in the place of what was kept of the same plugin. Never throws: without it the code is imported at the start. */
export function keep(file: string, written: WrittenPlugin): void {
  const directory = dirname(file);
  const [id = ""] = basename(file).split(".");
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(directory)) if (name.startsWith(`${id}.`)) rmSync(join(directory, name));
    writeFileSync(`${file}.new`, JSON.stringify(written), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // a full disk costs time at the next start
  }
}
