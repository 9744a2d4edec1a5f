/** Paths, types, modes and contents of all files in directories, to check that nothing changed. */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** @param skips names of files that change by themselves. @returns one line per file, sorted */
export function treeLines(path: string, skips: ReadonlySet<string> = new Set()): string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return [`${path} is not there`];
  const mode = (stats.mode & 0o7777).toString(8);
  if (stats.isSymbolicLink()) return [`${path} -> ${readlinkSync(path)}`];
  if (stats.isSocket()) return [];
  if (!stats.isDirectory()) return [`${path} ${mode} ${createHash("sha256").update(readFileSync(path)).digest("hex")}`];
  const below = readdirSync(path)
    .filter((name) => !skips.has(name))
    .sort();
  return [`${path}/ ${mode}`, ...below.flatMap((name) => treeLines(join(path, name), skips))];
}
