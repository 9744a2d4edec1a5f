/**
 * The only access to files with untrusted names: below one directory, regular files with one hard link.
 *
 * Each step is checked, and the opened file is compared with its path afterwards, so neither links nor concurrent
 * changes lead elsewhere.
 */
import { constants, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { invalidRequest } from "@svc/sdk";
import { hasCode, look, printable, realRoot, requirePlain, requireSame, stepsOf, walk } from "./rooted-steps.ts";

/** Choice: maximum bytes of a file that is read or written as a whole. */
export const MAX_FILE_BYTES = 1024 * 1024;

/** Without O_NONBLOCK, opening a FIFO would wait for its other end. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A file that was read. */
export interface RootedFile {
  readonly bytes: Buffer;
  readonly stats: Stats;
  /** The file is longer than the requested part. */
  readonly isCut: boolean;
}

/** Options of a read. */
export interface RootedReadOptions {
  /** Only the first bytes of the file. Default: the whole file, at most 1 MiB. */
  readonly head?: number;
  /**
   * Accepts files with several hard links, which some package managers create. Only for directories in which nobody
   * but the operator writes. Default false.
   */
  readonly hardLinks?: boolean;
  /** Maximum bytes of a file that is read as a whole. Default 1 MiB. */
  readonly maxBytes?: number;
}

/**
 * The file under a name below `root`; `undefined`: none.
 * @throws GatewayError `INVALID_REQUEST` for a link, a FIFO, a directory, or a file with several hard links
 */
export async function statWithin(root: string, name: string): Promise<Stats | undefined> {
  const steps = stepsOf(name);
  const real = await realRoot(root);
  if (real === undefined) return undefined;
  const stats = await walk(real, steps.slice(0, -1), { name }, ({ base }) => look(join(base, steps.at(-1) ?? "")));
  if (stats) requirePlain(stats, name);
  return stats;
}

/**
 * A directory below `root`, absolute and without links; `root` itself for an empty name. `undefined`: it does not
 * exist.
 * @throws GatewayError `INVALID_REQUEST` for a link, a file, or a path that leads elsewhere
 */
export async function directoryWithin(root: string, name: string): Promise<string | undefined> {
  const steps = name === "" ? [] : stepsOf(name);
  const real = await realRoot(root);
  if (real === undefined) return undefined;
  return walk(real, steps, { name }, async (directory) => directory.real);
}

/**
 * Reads a file below `root`, completely or its first bytes.
 * @param options a number stands for `head`
 * @returns `undefined` if the file does not exist
 * @throws GatewayError `INVALID_REQUEST` as in `statWithin`, and for more than `maxBytes` without `head`
 */
export async function readWithin(
  root: string,
  name: string,
  options: number | RootedReadOptions = {},
): Promise<RootedFile | undefined> {
  const { head, hardLinks, maxBytes }: RootedReadOptions = typeof options === "number" ? { head: options } : options;
  const steps = stepsOf(name);
  const last = steps.at(-1) ?? "";
  const real = await realRoot(root);
  if (real === undefined) return undefined;
  return walk(real, steps.slice(0, -1), { name }, async (directory) => {
    const path = join(directory.base, last);
    const seen = await look(path);
    if (!seen) return undefined;
    requirePlain(seen, name, hardLinks);
    const file = await openPlain(path, name);
    try {
      const stats = await file?.stat();
      if (!file || !stats) return undefined;
      requirePlain(stats, name, hardLinks);
      await requireSame(directory, last, stats, name);
      return await readOpen(file, stats, name, head, maxBytes);
    } finally {
      await file?.close();
    }
  });
}

async function openPlain(path: string, name: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, READ);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    if (hasCode(error, "ELOOP", "EMLINK", "ENXIO")) invalidRequest(`${printable(name)} is not a plain file`);
    throw error;
  }
}

async function readOpen(
  file: FileHandle,
  stats: Stats,
  name: string,
  head: number | undefined,
  maxBytes: number = MAX_FILE_BYTES,
): Promise<RootedFile> {
  if (head === undefined && stats.size > maxBytes) {
    invalidRequest(`${printable(name)} has ${stats.size} bytes; at most ${maxBytes} can be read; shorten it first`);
  }
  const bytes = await readHead(file, Math.min(head ?? maxBytes, stats.size));
  return { bytes, stats, isCut: stats.size > bytes.length };
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
