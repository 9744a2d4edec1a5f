/** Every file below a directory: who may change it, what it says, and whether it is what it was. */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import { SDK_LINK } from "./sdk-link.ts";

/** A file or directory. */
export interface TreeEntry {
  /** Relative, with `/`. */
  readonly path: string;
  readonly stats: Stats;
}

/** Entries that are looked at without letting anything else of the process run: about a millisecond. */
const AT_ONCE = 200;

/** More is no package but somebody's home. */
const MOST_ENTRIES = 200_000;

/**
 * Everything below `root`, and `root` itself as the empty path, sorted by path; links are not followed.
 * @param skips paths that are left out with all below them
 * @throws Error of the file system; too many entries
 */
export async function treeOf(root: string, skips: (path: string) => boolean = () => false): Promise<TreeEntry[]> {
  const found: TreeEntry[] = [{ path: "", stats: lstatSync(root) }];
  const waiting = [""];
  for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
    for (const name of readdirSync(`${root}/${directory}`)) {
      const path = directory === "" ? name : `${directory}/${name}`;
      if (skips(path)) continue;
      const stats = lstatSync(`${root}/${path}`); // `join` costs as much as the look itself
      found.push({ path, stats });
      if (stats.isDirectory()) waiting.push(path);
      if (found.length > MOST_ENTRIES) throw new Error(`${root} has more than ${MOST_ENTRIES} files`);
      if (found.length % AT_ONCE === 0) await breathe();
    }
  }
  return found.sort((left, right) => (left.path < right.path ? -1 : 1));
}

/** All of a generation but the link to the host's plugin API, which is the host's. */
export function generationTree(directory: string): Promise<TreeEntry[]> {
  return treeOf(directory, (path) => path === SDK_LINK || path.startsWith(`${SDK_LINK}.`));
}

/** What belongs to a checkout and not to the package in it. */
export function isOutside(path: string): boolean {
  return /(?:^|\/)(?:node_modules|\.git)$/.test(path);
}

/** A directory of a developer may have links; what they lead to is not the package's. */
export function withoutLinks(entries: readonly TreeEntry[]): readonly TreeEntry[] {
  return entries.filter(({ stats }) => !stats.isSymbolicLink());
}

/** What makes a tree unfit to run code from: others could change it, or it leads elsewhere. `undefined`: it is fit. */
export function treeFault(
  entries: readonly TreeEntry[],
  root: string,
  user: number | undefined = process.getuid?.(),
): string | undefined {
  for (const { path, stats } of entries) {
    const shown = () => (path === "" ? root : join(root, path));
    if (!stats.isFile() && !stats.isDirectory())
      return `${shown()} is ${stats.isSymbolicLink() ? "a symbolic link" : "neither a file nor a directory"}`;
    if (user === undefined) continue; // a system without owners
    if (stats.uid !== user && stats.uid !== 0) return `${shown()} belongs to another user`;
    if ((stats.mode & 0o002) !== 0) return `${shown()} is writable by everyone`;
  }
  return undefined;
}

/** Hash over paths, kinds, the right to execute, and contents. @param lasting also waits until each file is on disk */
export async function treeHash(root: string, entries: readonly TreeEntry[], lasting = false): Promise<string> {
  const hash = createHash("sha256");
  for (const { path, stats } of entries) {
    const kind = stats.isDirectory() ? "directory" : (stats.mode & 0o100) === 0 ? "file" : "program";
    const content =
      stats.isDirectory() && !lasting ? "" : await contentOf(join(root, path), stats.isDirectory(), lasting);
    hash.update(`${JSON.stringify([path, kind, content])}\n`);
  }
  return `sha256-${hash.digest("base64")}`;
}

async function contentOf(file: string, isDirectory: boolean, lasting: boolean): Promise<string> {
  const handle = await open(file, "r");
  try {
    const content = isDirectory
      ? ""
      : createHash("sha256")
          .update(await handle.readFile())
          .digest("base64");
    if (lasting) await handle.sync().catch(() => undefined); // some file systems cannot, for directories
    return content;
  } finally {
    await handle.close();
  }
}

/** Changes when anything of a tree is written, replaced or touched; costs no look into a file. */
export function sealOf(entries: readonly TreeEntry[]): string {
  const hash = createHash("sha256");
  for (const { path, stats } of entries) {
    const { size, mtimeMs, ctimeMs, ino, mode, uid } = stats;
    hash.update(`${JSON.stringify([path, stats.isDirectory() ? 0 : size, mtimeMs, ctimeMs, ino, mode, uid])}\n`);
  }
  return `sha256-${hash.digest("base64")}`;
}
