/** Which files are an agent's memory, and finding them. Reads no contents. */
import type { Stats } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** A file that is not searched. */
export interface LeftOut {
  readonly path: string;
  readonly reason: string;
}

/** Choice: limits of a scan. */
export const MAX_FILES = 2_000;
export const MAX_DIRECTORIES = 2_000;
export const MAX_DEPTH = 8;

/** The memory directory of a workspace, and the single files next to it. */
const DIRECTORY = "memory";
const SINGLE = ["MEMORY.md", "memory.md"];

/** Characters that make names look alike, or end a line. */
const UNREADABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\]/u;

/** Whether a path is a memory file: `MEMORY.md`, `memory.md`, or a `.md` file below `memory/` without a hidden part. */
export function isMemoryPath(path: string): boolean {
  if (SINGLE.includes(path)) return true;
  const [first, ...steps] = path.split("/");
  return first === DIRECTORY && isNote(steps.join("/"));
}

/** A relative path of a `.md` file without a hidden part. */
function isNote(path: string): boolean {
  const steps = path.split("/");
  const isPlain = steps.every((step) => step !== "" && !step.startsWith(".") && !UNREADABLE.test(step));
  return steps.length <= MAX_DEPTH && isPlain && path.toLowerCase().endsWith(".md");
}

/** A file, and the directory it must stay below. */
export interface Located {
  readonly root: string;
  /** Relative to `root`, with `/`. */
  readonly name: string;
}

/** The file of a path from a search result; `undefined`: not a file of this memory. */
export function locate(path: string, workspace: string, extraPaths: readonly string[]): Located | undefined {
  if (isMemoryPath(path)) return { root: workspace, name: path };
  for (const extra of extraPaths) {
    if (path === extra && isNote(basename(path))) return { root: dirname(path), name: basename(path) };
    if (path.startsWith(`${extra}/`) && isNote(path.slice(extra.length + 1)))
      return { root: extra, name: path.slice(extra.length + 1) };
  }
  return undefined;
}

/** A file that was found. */
export interface SeenFile extends Located {
  /** Relative to the workspace, or absolute. */
  readonly path: string;
  readonly stats: Stats;
}

export interface SeenFiles {
  readonly files: readonly SeenFile[];
  /** Skipped files. */
  readonly leftOut: readonly LeftOut[];
  /** Directories to watch, absolute. */
  readonly directories: readonly string[];
}

interface Walk {
  readonly found: (Located & { readonly path: string })[];
  readonly directories: string[];
  readonly signal: AbortSignal;
}

/** Finds the files, ordered by path. Does not follow links. Finding none is not an error. */
export async function findFiles(
  { workspace, extraPaths }: { readonly workspace: string; readonly extraPaths: readonly string[] },
  signal: AbortSignal,
): Promise<SeenFiles> {
  const walk: Walk = { found: [], directories: [workspace], signal };
  const leftOut: LeftOut[] = [];
  for (const name of SINGLE) walk.found.push({ root: workspace, name, path: name });
  await collect({ root: workspace, below: DIRECTORY, prefix: "" }, 1, walk);
  for (const extra of extraPaths) {
    const stats = await stat(extra).catch(() => undefined);
    if (stats?.isDirectory()) await collect({ root: extra, below: "", prefix: `${extra}/` }, 1, walk);
    else if (stats && isNote(basename(extra))) {
      walk.directories.push(dirname(extra));
      walk.found.push({ root: dirname(extra), name: basename(extra), path: extra });
    } else
      leftOut.push({ path: extra, reason: stats ? "it is neither a .md file nor a directory" : "it does not exist" });
  }
  const seen = await seenOf(walk.found.slice(0, MAX_FILES), signal);
  const isCut = walk.found.length > MAX_FILES || walk.directories.length > MAX_DIRECTORIES;
  const limits = `${MAX_FILES} files and ${MAX_DIRECTORIES} directories`;
  if (isCut) leftOut.push({ path: "memory/", reason: `only the first ${limits} are searched` });
  return { files: withoutTwins(seen), leftOut, directories: walk.directories.slice(0, MAX_DIRECTORIES) };
}

async function seenOf(found: Walk["found"], signal: AbortSignal): Promise<SeenFile[]> {
  const seen: SeenFile[] = [];
  // In batches, to limit concurrent calls.
  for (let at = 0; at < found.length; at += 32) {
    signal.throwIfAborted();
    const some = found
      .slice(at, at + 32)
      .map(async (file) => ({ file, stats: await statsOf(join(file.root, file.name)) }));
    for (const { file, stats } of await Promise.all(some)) if (stats) seen.push({ ...file, stats });
  }
  return seen;
}

/** A directory below `root`; `prefix` turns a name into a path. */
interface Step {
  readonly root: string;
  readonly below: string;
  readonly prefix: string;
}

async function collect({ root, below, prefix }: Step, depth: number, walk: Walk): Promise<void> {
  const { found, directories, signal } = walk;
  signal.throwIfAborted();
  const directory = join(root, below);
  // The root itself may be a link, by the operator's choice.
  const stats = below === "" ? await stat(directory).catch(() => undefined) : await statsOf(directory);
  if (!stats?.isDirectory()) return;
  directories.push(directory);
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    if (found.length > MAX_FILES || directories.length > MAX_DIRECTORIES) return;
    if (entry.isDirectory() && depth < MAX_DEPTH && !entry.name.startsWith(".")) {
      await collect({ root, below: name, prefix }, depth + 1, walk);
    } else if (!entry.isDirectory() && (prefix === "" ? isMemoryPath(name) : isNote(name)))
      found.push({ root, name, path: `${prefix}${name}` });
  }
}

/** `undefined` for a file that cannot be inspected. */
async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch {
    return undefined;
  }
}

/** Drops duplicate names of one file: on a case-insensitive file system, or where sources overlap. */
function withoutTwins(seen: readonly SeenFile[]): SeenFile[] {
  const known = new Set<string>();
  return seen.filter(({ stats: { dev, ino, nlink } }) => {
    const file = `${dev} ${ino}`;
    if (nlink !== 1) return true; // reading refuses files with hard links
    if (known.has(file)) return false;
    known.add(file);
    return true;
  });
}
