/**
 * Reads the transforms directory: only files that belong to the gateway's user, are not world-writable, and are reached
 * without a link. The checks and the read use the same open file, so that the checked bytes are the returned bytes.
 * Choice: a link inside the root is refused like one that leaves it. Spec: http/webhooks.md §7.
 */
import { constants, type Dirent, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink, realpath } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { isInside, transformPathProblem } from "@svc/sdk/files";

/** Choice: far above real use, far below what would cause harm. */
export const MAX_FILES = 1_000;
export const MAX_BYTES = 8 * 1024 * 1024;
/** Most directory entries that are read, of any kind. */
const MAX_ENTRIES = 20_000;

/** The code and data files of a directory. */
export interface Tree {
  readonly kind: "tree";
  /** Real path. */
  readonly directory: string;
  /** Bytes by path relative to `directory`, `/` between names; sorted. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Reason why a path is excluded, by the same paths. */
  readonly refused: ReadonlyMap<string, string>;
}

export type Reading =
  | Tree
  | { readonly kind: "missing"; readonly path: string }
  /** The whole directory is unusable. */
  | { readonly kind: "refused"; readonly path: string; readonly message: string };

/** Why a path cannot be used. */
class Refusal extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/** @param directory absolute or relative to `root`; inside it. Never rejects because of the file system's state. */
export async function readTree(root: string, directory: string): Promise<Reading> {
  const place = resolve(root, directory);
  const lexical = transformPathProblem(directory, root);
  if (lexical) return { kind: "refused", path: directory, message: lexical };
  try {
    const [realRoot, real] = [await realpath(root), await realpath(place)];
    if (!isInside(realRoot, real)) throw new Refusal(place, `is outside of ${root}; move the directory there`);
    for (let at = real; isInside(realRoot, at); at = dirname(at)) {
      checkDirectory(at, await lstat(at));
      if (dirname(at) === at) break;
    }
    return await new Walk(real).read();
  } catch (error) {
    if (error instanceof Refusal) return { kind: "refused", path: error.path, message: error.message };
    const code = codeOf(error);
    if (code === "ENOENT") return { kind: "missing", path: place };
    return { kind: "refused", path: place, message: `cannot be read (${code}); check its owner and mode` };
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
      if ((this.entries += 1) > MAX_ENTRIES) throw new Refusal(this.directory, `has more than ${MAX_ENTRIES} entries`);
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const path = join(directory, entry.name);
      try {
        await this.take(path, entry);
      } catch (error) {
        if (error instanceof Refusal && error.path === this.directory) throw error;
        const code = codeOf(error);
        if (code === "ENOENT") continue; // deleted meanwhile
        const reason = error instanceof Refusal ? error.message : `cannot be read (${code}); check its owner and mode`;
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
      throw new Refusal(this.directory, `has more than ${MAX_FILES} files of code and data`);
    if (this.bytes > MAX_BYTES)
      throw new Refusal(this.directory, `has more than ${MAX_BYTES >> 20} MiB of code and data`);
  }
}

const LINK = "is a symbolic link; put the file itself there";

/** Code and data, except files that only an editor reads. */
export function isSource(name: string): boolean {
  return /\.(?:[cm]?[jt]s|json)$/.test(name) && !/\.d\.[cm]?ts$|^[jt]sconfig\.json$/.test(name);
}

/** Reads a file that passes all checks; the checks use the open file. @throws Refusal */
async function readChecked(path: string): Promise<Buffer> {
  const file = await openPlain(path);
  try {
    const before = await file.stat();
    if (!before.isFile()) throw new Refusal(path, "is not a regular file");
    if (before.nlink > 1) throw new Refusal(path, "is a hard link; copy the file instead");
    checkOwner(path, before);
    if (before.size > MAX_BYTES) throw new Refusal(path, `is larger than ${MAX_BYTES >> 20} MiB`);
    const bytes = await file.readFile();
    const after = await file.stat();
    if (before.mtimeMs !== after.mtimeMs || before.size !== after.size || bytes.length !== after.size)
      throw new Refusal(path, "changed while it was read; it will be read again after the next change");
    if (!(await isReally(file, path, before)))
      throw new Refusal(path, "was replaced while it was read; it will be read again after the next change");
    return bytes;
  } finally {
    await file.close();
  }
}

/** Whether the open file is the file at this path: a directory above it may have been replaced by a link since the check. */
async function isReally(file: FileHandle, path: string, { ino, dev }: Stats): Promise<boolean> {
  // The system knows the path of an open file; two checks of the path could fall before and after a change.
  const place = await readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined);
  if (place !== undefined) return place === path;
  const now = await lstat(path);
  return (await realpath(path)) === path && now.ino === ino && now.dev === dev && !now.isSymbolicLink();
}

/** Never follows a link and never waits for a pipe. */
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
  if (own === undefined) return; // this system has no file owners
  if (uid !== own && uid !== 0)
    throw new Refusal(
      path,
      `belongs to another user (uid ${uid}); it must belong to the user of the gateway or to root`,
    );
  if (mode & 0o002) throw new Refusal(path, `is world-writable; run: chmod o-w '${path}'`);
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error); // errors of node:fs have one
}
