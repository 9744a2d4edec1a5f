/** Inspects an installed package on disk: its manifest and its native code. Runs none of its code. */
import { realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { type Manifest, readManifest } from "../kernel/manifest.ts";
import type { TreeEntry } from "./tree.ts";

/** Reads the manifest and checks that its files are inside the package. @throws Error with the next step */
export function inspectPackage(directory: string): Manifest {
  const manifest = readManifest(directory);
  if (!manifest) throw refused(`${directory} is not a plugin: its package.json has no "svc.entry"`, "add that key");
  for (const [key, path] of [
    ["entry", manifest.entry],
    ["cli", manifest.cli],
    ["security", manifest.security],
  ] as const)
    if (path !== undefined) mustBeInside(directory, key, path);
  return manifest;
}

function mustBeInside(directory: string, key: string, path: string): void {
  const root = realpathSync(directory);
  let file: string;
  try {
    file = realpathSync(join(root, path));
  } catch {
    const next = 'build it before packing, and list the result under "files" in its package.json';
    throw refused(`its ${key} ${path} is not in the package`, next);
  }
  if (!file.startsWith(root + sep))
    throw refused(`its ${key} ${path} points outside the package`, "report it to the author of the package");
  if (!statSync(file).isFile())
    throw refused(`its ${key} ${path} is not a file`, "report it to the author of the package");
}

/** Paths of native add-ons, relative to the generation's `node_modules`. */
export function nativeFiles(entries: readonly TreeEntry[]): readonly string[] {
  return entries
    .filter(({ path, stats }) => path.endsWith(".node") && stats.isFile())
    .map(({ path }) => path.replace(/^node_modules\//, ""));
}

function refused(why: string, next: string): Error {
  return new Error(`${why}\nNext: ${next}`);
}
