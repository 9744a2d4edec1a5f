/**
 * The one way to files whose name comes from outside: below one directory, plain files with one name only.
 *
 * Each step of the way is looked at and the opened file is compared with what the path leads to afterwards, so that
 * neither links nor a change in between lead elsewhere.
 */
import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, realpath, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { invalidRequest } from "../errors.ts";

/** Choice: bytes of the largest file that is read or written whole. */
export const MAX_FILE_BYTES = 1024 * 1024;

/** Without O_NONBLOCK, opening a FIFO would wait for its other end. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A file that was read. */
export interface RootedFile {
  readonly bytes: Buffer;
  readonly stats: Stats;
  /** There is more of it than was asked for. */
  readonly isCut: boolean;
}

/** The names a relative path consists of. @throws GatewayError `INVALID_REQUEST` when it is not a plain path downwards */
function stepsOf(name: string): readonly string[] {
  const steps = name.split("/");
  const isPlain = steps.every((step) => step !== "" && step !== "." && step !== ".." && !/[\0\\]/.test(step));
  if (!isPlain) invalidRequest(`"${printable(name)}" is not a path below the workspace`);
  return steps;
}

const printable = (name: string) => name.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 100);

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** What is there, links not followed; `undefined`: nothing. */
async function look(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

function requirePlain(stats: Stats, name: string): void {
  if (stats.isSymbolicLink()) invalidRequest(`${printable(name)} is a symbolic link; put a plain file in its place`);
  if (!stats.isFile()) invalidRequest(`${printable(name)} is not a plain file; put one in its place`);
  if (stats.nlink > 1) invalidRequest(`${printable(name)} has further names (hard links); put a copy in its place`);
}

/**
 * What stands under a name below `root`: `undefined` for nothing.
 * @throws GatewayError `INVALID_REQUEST` for what may not be read: a link, a FIFO, a directory, a file with two names
 */
export async function statWithin(root: string, name: string): Promise<Stats | undefined> {
  const real = await realRoot(root);
  if (real === undefined) return undefined;
  const stats = await lookBelow(real, stepsOf(name), name);
  if (stats) requirePlain(stats, name);
  return stats;
}

/** `root` with links followed: an operator may put a link there. `undefined`: it does not exist. */
async function realRoot(root: string): Promise<string | undefined> {
  try {
    return await realpath(root);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

async function lookBelow(real: string, steps: readonly string[], name: string): Promise<Stats | undefined> {
  let path = real;
  for (const step of steps.slice(0, -1)) {
    path = join(path, step);
    const stats = await look(path);
    if (!stats) return undefined;
    if (!stats.isDirectory()) invalidRequest(`${printable(name)} leads out of the workspace, or through a file`);
  }
  return look(join(real, ...steps));
}

/**
 * Reads a file below `root`: all of it, or its first `head` bytes.
 * @returns `undefined` when there is no such file
 * @throws GatewayError `INVALID_REQUEST` as `statWithin`, and for more than 1 MiB without `head`
 */
export async function readWithin(root: string, name: string, head?: number): Promise<RootedFile | undefined> {
  const steps = stepsOf(name);
  const real = await realRoot(root);
  if (real === undefined) return undefined;
  const seen = await lookBelow(real, steps, name);
  if (!seen) return undefined;
  requirePlain(seen, name);
  const path = join(real, ...steps);
  let file: FileHandle;
  try {
    file = await open(path, READ);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    if (hasCode(error, "ELOOP", "EMLINK", "ENXIO")) invalidRequest(`${printable(name)} is not a plain file`);
    throw error;
  }
  try {
    const stats = await file.stat();
    requirePlain(stats, name);
    await requireSame(path, stats, name);
    if (head === undefined && stats.size > MAX_FILE_BYTES) {
      invalidRequest(
        `${printable(name)} has ${stats.size} bytes; at most ${MAX_FILE_BYTES} can be read, shorten it first`,
      );
    }
    const limit = head ?? MAX_FILE_BYTES;
    const bytes = await readHead(file, Math.min(limit, stats.size));
    return { bytes, stats, isCut: stats.size > bytes.length };
  } finally {
    await file.close();
  }
}

/** The opened file is the one the path leads to without a link. @throws GatewayError `INVALID_REQUEST` */
async function requireSame(path: string, { dev, ino }: Stats, name: string): Promise<void> {
  const now = await look(path);
  const isHere = (await realRoot(dirname(path))) === dirname(path);
  if (!now || !isHere || now.dev !== dev || now.ino !== ino) {
    invalidRequest(`${printable(name)} changed while it was opened; try again`);
  }
}

async function readHead(file: FileHandle, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

/**
 * Puts a file of mode 0600 right below `root`, in the place of what has that name. All of it is on disk when this
 * resolves; a crash leaves the former file or the new one.
 * @throws GatewayError `INVALID_REQUEST` for more than 1 MiB, and when what is there is not a plain file with one name
 */
export async function writeWithin(root: string, name: string, text: string): Promise<Stats> {
  const bytes = Buffer.from(text, "utf8");
  if (stepsOf(name).length !== 1) invalidRequest(`"${printable(name)}" is not a name of a file in the workspace`);
  if (bytes.length > MAX_FILE_BYTES) {
    invalidRequest(`${printable(name)}: ${bytes.length} bytes are too many; at most ${MAX_FILE_BYTES} can be written`);
  }
  const real = await realpath(root);
  const path = join(real, name);
  const former = await look(path);
  if (former) requirePlain(former, name);
  const draft = join(real, `.${name}.${randomBytes(6).toString("hex")}.tmp`);
  const file = await open(draft, CREATE, 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
    await file.close();
    await rename(draft, path);
  } catch (error) {
    await file.close().catch(() => undefined);
    await unlink(draft).catch(() => undefined);
    throw error;
  }
  await syncDirectory(real);
  return lstat(path);
}

/** As `writeWithin` where nothing has that name yet; otherwise, nothing is done. `real`: links followed. */
export async function createWithin(real: string, name: string, text: string): Promise<void> {
  let file: FileHandle;
  try {
    file = await open(join(real, ...stepsOf(name)), CREATE, 0o600);
  } catch (error) {
    if (hasCode(error, "EEXIST")) return;
    throw error;
  }
  try {
    await file.writeFile(text);
    await file.sync();
    await file.close();
  } catch (error) {
    await file.close().catch(() => undefined);
    await unlink(join(real, ...stepsOf(name))).catch(() => undefined); // half of it would count as there
    throw error;
  }
  await syncDirectory(real);
}

/** Makes new names in a directory durable. Where directories cannot be synced (some network disks), nothing is done. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY);
  try {
    await directory.sync();
  } catch (error) {
    if (!hasCode(error, "EINVAL", "ENOTSUP", "EPERM")) throw error;
  } finally {
    await directory.close();
  }
}
