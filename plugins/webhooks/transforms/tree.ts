/**
 * Reads the transforms directory: only what belongs to the user of the gateway, cannot be written by anybody, and is reached
 * without a link. What was checked is what is returned: the checks look at the open file whose bytes are read.
 * Choice: a link inside the root is refused like one that leaves it. Spec: http/webhooks.md §7.
 */
import { constants, type Dirent, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink, realpath } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { isInside, transformPathProblem } from "@svc/sdk/files";

/** Choice: far above what people write, far below what hurts. */
export const MAX_FILES = 1_000;
export const MAX_BYTES = 8 * 1024 * 1024;
/** Names looked at, whatever they are. */
const MAX_ENTRIES = 20_000;

/** The code and data files of a directory. */
export interface Tree {
  readonly kind: "tree";
  /** Real path. */
  readonly directory: string;
  /** Bytes by path relative to `directory`, `/` between names; sorted. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Why something is left out, by the same paths. */
  readonly refused: ReadonlyMap<string, string>;
}

export type Reading =
  | Tree
  | { readonly kind: "missing"; readonly path: string }
  /** Nothing of it may be used. */
  | { readonly kind: "refused"; readonly path: string; readonly message: string };

/** Why a place cannot be used. */
class Refusal extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** @param directory absolute or relative to `root`; inside it. Never rejects because of what is on the disk. */
export async function readTree(root: string, directory: string): Promise<Reading> {
  const place = resolve(root, directory);
  const lexical = transformPathProblem(directory, root);
  if (lexical) return { kind: "refused", path: directory, message: lexical };
  try {
    const [realRoot, real] = [await realpath(root), await realpath(place)];
    if (!isInside(realRoot, real)) throw new Refusal(place, `leads out of ${root}; put the directory itself there`);
    for (let at = real; isInside(realRoot, at); at = dirname(at)) {
      checkDirectory(at, await lstat(at));
      if (dirname(at) === at) break;
    }
    return await new Walk(real).read();
  } catch (error) {
    if (error instanceof Refusal) return { kind: "refused", path: error.path, message: error.message };
    const code = codeOf(error);
    if (code === "ENOENT") return { kind: "missing", path: place };
    return { kind: "refused", path: place, message: `cannot be read (${code}); see its owner and mode` };
  }
}

class Walk {
  private readonly directory: string;
  private readonly files = new Map<string, Buffer>();
  private readonly refused = new Map<string, string>();
  private entries = 0;
  private bytes = 0;

  constructor(directory: string) {
    this.directory = directory;
  }

  async read(): Promise<Tree> {
    await this.enter(this.directory);
    const files = new Map([...this.files].sort(([one], [other]) => (one < other ? -1 : 1)));
    return { kind: "tree", directory: this.directory, files, refused: this.refused };
  }

  private async enter(directory: string): Promise<void> {
    for (const entry of await readdir(directory, { withFileTypes: true })) {
      if ((this.entries += 1) > MAX_ENTRIES) throw new Refusal(this.directory, `holds more than ${MAX_ENTRIES} names`);
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const path = join(directory, entry.name);
      try {
        await this.take(path, entry);
      } catch (error) {
        if (error instanceof Refusal && error.path === this.directory) throw error;
        const code = codeOf(error);
        if (code === "ENOENT") continue; // gone meanwhile
        const reason = error instanceof Refusal ? error.message : `cannot be read (${code}); see its owner and mode`;
        this.refused.set(relative(this.directory, path).replaceAll("\\", "/"), reason);
      }
    }
  }

  private async take(path: string, entry: Dirent): Promise<void> {
    if (entry.isSymbolicLink()) throw new Refusal(path, LINK);
    if (entry.isDirectory()) {
      checkDirectory(path, await lstat(path));
      return this.enter(path);
    }
    if (!isSource(entry.name)) return;
    const bytes = await readChecked(path);
    this.bytes += bytes.length;
    this.files.set(relative(this.directory, path).replaceAll("\\", "/"), bytes);
    if (this.files.size > MAX_FILES)
      throw new Refusal(this.directory, `holds more than ${MAX_FILES} files of code and data`);
    if (this.bytes > MAX_BYTES)
      throw new Refusal(this.directory, `holds more than ${MAX_BYTES >> 20} MiB of code and data`);
  }
}

const LINK = "is a symbolic link; put the file itself there";

/** Code and data; what only an editor reads is none. */
export function isSource(name: string): boolean {
  return /\.(?:[cm]?[jt]s|json)$/.test(name) && !/\.d\.[cm]?ts$|^[jt]sconfig\.json$/.test(name);
}

/** Bytes of a file that passes; every fact is one of the open file. @throws Refusal */
async function readChecked(path: string): Promise<Buffer> {
  const file = await openPlain(path);
  try {
    const before = await file.stat();
    if (!before.isFile()) throw new Refusal(path, "is not a regular file");
    if (before.nlink > 1) throw new Refusal(path, "has another name (a hard link); copy it instead");
    checkOwner(path, before);
    if (before.size > MAX_BYTES) throw new Refusal(path, `is larger than ${MAX_BYTES >> 20} MiB`);
    const bytes = await file.readFile();
    const after = await file.stat();
    if (before.mtimeMs !== after.mtimeMs || before.size !== after.size || bytes.length !== after.size)
      throw new Refusal(path, "changed while it was read; it is read again after the next change");
    if (!(await isReally(file, path, before)))
      throw new Refusal(path, "was replaced while it was read; it is read again after the next change");
    return bytes;
  } finally {
    await file.close();
  }
}

/** Whether the open file is the one at this path: a directory on the way may have become a link since it was checked. */
async function isReally(file: FileHandle, path: string, { ino, dev }: Stats): Promise<boolean> {
  // The system itself tells where an open file lies; two looks at the path could fall on either side of a change.
  const place = await readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined);
  if (place !== undefined) return place === path;
  const now = await lstat(path);
  return (await realpath(path)) === path && now.ino === ino && now.dev === dev && !now.isSymbolicLink();
}

/** Never follows a link, never waits for a pipe. */
async function openPlain(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = codeOf(error);
    if (code === "ELOOP") throw new Refusal(path, LINK);
    if (code === "ENXIO") throw new Refusal(path, "is not a regular file");
    throw error;
  }
}

function checkDirectory(path: string, stats: Stats): void {
  if (!stats.isDirectory()) throw new Refusal(path, stats.isSymbolicLink() ? LINK : "is not a directory");
  checkOwner(path, stats);
}

function checkOwner(path: string, { uid, mode }: Stats): void {
  const own = process.getuid?.();
  if (own === undefined) return; // a system without owners
  if (uid !== own && uid !== 0)
    throw new Refusal(
      path,
      `belongs to another user (uid ${uid}); it must belong to the user of the gateway or to root`,
    );
  if (mode & 0o002) throw new Refusal(path, `can be written by anybody; run: chmod o-w '${path}'`);
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error); // what node:fs throws has one
}
