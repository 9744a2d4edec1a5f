/** Walks all files below a directory and checks their owners, their contents, and whether they changed. */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import { SDK_LINK } from "./sdk-link.ts";

/** A file or directory. */
export interface TreeEntry {
  /** Relative path, with `/` as separator. */
  readonly path: string;
  readonly stats: Stats;
}

/** Entries read before yielding to the event loop: about a millisecond. */
const AT_ONCE = 200;

/** Maximum number of entries: a larger tree is not a package. */
const MOST_ENTRIES = 200_000;

/**
 * All entries below `root`, and `root` itself as the empty path, sorted by path; links are not followed.
 * @param skips whether to skip a path and everything below it
 * @throws Error a directory cannot be read, or there are too many entries
 */
export async function treeOf(root: string, skips: (path: string) => boolean = () => false): Promise<TreeEntry[]> {
  const found: TreeEntry[] = [{ path: "", stats: lstatSync(root) }];
  const waiting = [""];
  for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
    for (const name of readdirSync(`${root}/${directory}`)) {
      const path = directory === "" ? name : `${directory}/${name}`;
      if (skips(path)) continue;
      const stats = lstatSync(`${root}/${path}`); // `join` would cost as much as `lstat`
      found.push({ path, stats });
      if (stats.isDirectory()) waiting.push(path);
      if (found.length > MOST_ENTRIES) throw new Error(`${root} has more than ${MOST_ENTRIES} files`);
      if (found.length % AT_ONCE === 0) await breathe();
    }
  }
  return found.sort((left, right) => (left.path < right.path ? -1 : 1));
}

/** All entries of a generation except the link to the SDK, which belongs to the host. */
export function generationTree(directory: string): Promise<TreeEntry[]> {
  return treeOf(directory, (path) => path === SDK_LINK || path.startsWith(`${SDK_LINK}.`));
}

/** Whether a path belongs to a checkout and not to the package in it. */
export function isOutside(path: string): boolean {
  return /(?:^|\/)(?:node_modules|\.git)$/.test(path);
}

/** A linked development directory may contain links; their targets are not part of the package. */
export function withoutLinks(entries: readonly TreeEntry[]): readonly TreeEntry[] {
  return entries.filter(({ stats }) => !stats.isSymbolicLink());
}

/** Why code of a tree must not be run: other users could change it, or it contains links. `undefined`: it may be run. */
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

/** Hash over paths, types, execute permissions and contents. @param lasting also syncs each file to disk */
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
    if (lasting) await handle.sync().catch(() => undefined); // some file systems cannot sync directories
    return content;
  } finally {
    await handle.close();
  }
}

/** Hash over metadata: it changes when an entry is written, replaced or touched. Reads no file contents. */
export function sealOf(entries: readonly TreeEntry[]): string {
  const hash = createHash("sha256");
  for (const { path, stats } of entries) {
    const { size, mtimeMs, ctimeMs, ino, mode, uid } = stats;
    hash.update(`${JSON.stringify([path, stats.isDirectory() ? 0 : size, mtimeMs, ctimeMs, ino, mode, uid])}\n`);
  }
  return `sha256-${hash.digest("base64")}`;
}
