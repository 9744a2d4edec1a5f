/** Which files are an agent's memory, and finding them. Nothing is read here. */
import type { Stats } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** A file that is not searched. */
export interface LeftOut {
  readonly path: string;
  readonly reason: string;
}

/** Choice: what is looked at most. */
export const MAX_FILES = 2_000;
export const MAX_DIRECTORIES = 2_000;
export const MAX_DEPTH = 8;

/** Directory below the workspace, and the files beside it. */
const DIRECTORY = "memory";
const SINGLE = ["MEMORY.md", "memory.md"];

/** Characters that make one name look like another, or end a line. */
const UNREADABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\]/u;

/** Whether a path belongs to the memory: `MEMORY.md`, `memory.md`, or a `.md` file below `memory/`, nothing hidden. */
export function isMemoryPath(path: string): boolean {
  if (SINGLE.includes(path)) return true;
  const [first, ...steps] = path.split("/");
  return first === DIRECTORY && isNote(steps.join("/"));
}

/** A `.md` file below a directory, nothing hidden on the way. */
function isNote(path: string): boolean {
  const steps = path.split("/");
  const isPlain = steps.every((step) => step !== "" && !step.startsWith(".") && !UNREADABLE.test(step));
  return steps.length <= MAX_DEPTH && isPlain && path.toLowerCase().endsWith(".md");
}

/** A file by the directory it must stay below. */
export interface Located {
  readonly root: string;
  /** Below `root`, with `/`. */
  readonly name: string;
}

/** Where a path leads that a search has given; `undefined`: it is no file of this memory. */
export function locate(path: string, workspace: string, extraPaths: readonly string[]): Located | undefined {
  if (isMemoryPath(path)) return { root: workspace, name: path };
  for (const extra of extraPaths) {
    if (path === extra && isNote(basename(path))) return { root: dirname(path), name: basename(path) };
    if (path.startsWith(`${extra}/`) && isNote(path.slice(extra.length + 1)))
      return { root: extra, name: path.slice(extra.length + 1) };
  }
  return undefined;
}

/** A file as it stood there. */
export interface SeenFile extends Located {
  /** How it is called: below the workspace, else absolute. */
  readonly path: string;
  readonly stats: Stats;
}

export interface SeenFiles {
  readonly files: readonly SeenFile[];
  /** What was not looked at. */
  readonly leftOut: readonly LeftOut[];
  /** Directories that tell of changes, absolute. */
  readonly directories: readonly string[];
}

interface Look {
  readonly found: (Located & { readonly path: string })[];
  readonly directories: string[];
  readonly signal: AbortSignal;
}

/** Looks for the files, in the order of their paths; links are not followed. Nothing there is no error. */
export async function findFiles(
  { workspace, extraPaths }: { readonly workspace: string; readonly extraPaths: readonly string[] },
  signal: AbortSignal,
): Promise<SeenFiles> {
  const look: Look = { found: [], directories: [workspace], signal };
  const leftOut: LeftOut[] = [];
  for (const name of SINGLE) look.found.push({ root: workspace, name, path: name });
  await collect({ root: workspace, below: DIRECTORY, prefix: "" }, 1, look);
  for (const extra of extraPaths) {
    const stats = await stat(extra).catch(() => undefined);
    if (stats?.isDirectory()) await collect({ root: extra, below: "", prefix: `${extra}/` }, 1, look);
    else if (stats && isNote(basename(extra))) {
      look.directories.push(dirname(extra));
      look.found.push({ root: dirname(extra), name: basename(extra), path: extra });
    } else
      leftOut.push({ path: extra, reason: stats ? "it is neither a .md file nor a directory" : "it is not there" });
  }
  const seen = await seenOf(look.found.slice(0, MAX_FILES), signal);
  const isCut = look.found.length > MAX_FILES || look.directories.length > MAX_DIRECTORIES;
  const limits = `${MAX_FILES} files and ${MAX_DIRECTORIES} directories`;
  if (isCut) leftOut.push({ path: "memory/", reason: `only the first ${limits} are searched` });
  return { files: withoutTwins(seen), leftOut, directories: look.directories.slice(0, MAX_DIRECTORIES) };
}

async function seenOf(found: Look["found"], signal: AbortSignal): Promise<SeenFile[]> {
  const seen: SeenFile[] = [];
  // A few at a time: as fast as the disk, and no thousand open questions at once.
  for (let at = 0; at < found.length; at += 32) {
    signal.throwIfAborted();
    const some = found
      .slice(at, at + 32)
      .map(async (file) => ({ file, stats: await statsOf(join(file.root, file.name)) }));
    for (const { file, stats } of await Promise.all(some)) if (stats) seen.push({ ...file, stats });
  }
  return seen;
}

/** A directory below `root` on the way down; `prefix` makes a path of a name. */
interface Step {
  readonly root: string;
  readonly below: string;
  readonly prefix: string;
}

async function collect({ root, below, prefix }: Step, depth: number, look: Look): Promise<void> {
  const { found, directories, signal } = look;
  signal.throwIfAborted();
  const directory = join(root, below);
  // The root itself may be a link that an operator put there.
  const stats = below === "" ? await stat(directory).catch(() => undefined) : await statsOf(directory);
  if (!stats?.isDirectory()) return;
  directories.push(directory);
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    if (found.length > MAX_FILES || directories.length > MAX_DIRECTORIES) return;
    if (entry.isDirectory() && depth < MAX_DEPTH && !entry.name.startsWith(".")) {
      await collect({ root, below: name, prefix }, depth + 1, look);
    } else if (!entry.isDirectory() && (prefix === "" ? isMemoryPath(name) : isNote(name)))
      found.push({ root, name, path: `${prefix}${name}` });
  }
}

/** What cannot be looked at is not there. */
async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch {
    return undefined;
  }
}

/** One file by two names, where case does not count or a path of one source lies in another: the first name stands for it. */
function withoutTwins(seen: readonly SeenFile[]): SeenFile[] {
  const known = new Set<string>();
  return seen.filter(({ stats: { dev, ino, nlink } }) => {
    const file = `${dev} ${ino}`;
    if (nlink !== 1) return true; // several names of one file are refused when it is read
    if (known.has(file)) return false;
    known.add(file);
    return true;
  });
}
