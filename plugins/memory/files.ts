/** Which files of a workspace are an agent's memory, and finding them. Nothing is read here. */
import type { Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Choice: what is looked at most. */
export const MAX_FILES = 2_000;
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
  const isPlain = steps.every((step) => step !== "" && !step.startsWith(".") && !UNREADABLE.test(step));
  return first === DIRECTORY && steps.length > 0 && steps.length <= MAX_DEPTH && isPlain && isMarkdown(path);
}

const isMarkdown = (name: string) => name.toLowerCase().endsWith(".md");

/** A file as it stood there. */
export interface SeenFile {
  /** Below the workspace, with `/`. */
  readonly path: string;
  readonly stats: Stats;
}

export interface SeenFiles {
  readonly files: readonly SeenFile[];
  /** There are more than `MAX_FILES`. */
  readonly isCut: boolean;
}

/** Looks for the files, in the order of their paths; links are not followed. Nothing there is no error. */
export async function findFiles(workspace: string, signal: AbortSignal): Promise<SeenFiles> {
  const found = [...SINGLE];
  await collect(workspace, DIRECTORY, 1, found, signal);
  const paths = found.slice(0, MAX_FILES);
  const seen: SeenFile[] = [];
  // A few at a time: as fast as the disk, and no thousand open questions at once.
  for (let at = 0; at < paths.length; at += 32) {
    signal.throwIfAborted();
    const looks = paths.slice(at, at + 32).map(async (path) => ({ path, stats: await look(join(workspace, path)) }));
    for (const { path, stats } of await Promise.all(looks)) if (stats) seen.push({ path, stats });
  }
  return { files: withoutTwins(seen), isCut: found.length > MAX_FILES };
}

async function collect(
  root: string,
  below: string,
  depth: number,
  found: string[],
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const stats = await look(join(root, below));
  if (!stats?.isDirectory()) return;
  const entries = await readdir(join(root, below), { withFileTypes: true }).catch(() => []);
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = `${below}/${entry.name}`;
    if (found.length > MAX_FILES) return;
    if (entry.isDirectory() && depth < MAX_DEPTH && !entry.name.startsWith(".")) {
      await collect(root, path, depth + 1, found, signal);
    } else if (!entry.isDirectory() && isMemoryPath(path)) found.push(path);
  }
}

/** What cannot be looked at is not there. */
async function look(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch {
    return undefined;
  }
}

/** Where case does not count, `MEMORY.md` and `memory.md` are one file: the first name stands for it. */
function withoutTwins(seen: readonly SeenFile[]): SeenFile[] {
  const upper = seen.find(({ path }) => path === SINGLE[0])?.stats;
  const isTwin = ({ path, stats: { dev, ino, nlink } }: SeenFile) =>
    path === SINGLE[1] && nlink === 1 && dev === upper?.dev && ino === upper.ino;
  return seen.filter((file) => !isTwin(file));
}
