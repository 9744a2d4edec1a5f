/**
 * Creates and replaces files atomically: after a crash of the process or machine, a file is complete or absent. Mode
 * 0600.
 */
import { randomBytes } from "node:crypto";
import { link, open, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";

/** The file system calls used here, so that a test can make any step fail. */
export interface FileCalls {
  readonly link: typeof link;
  readonly open: typeof open;
  readonly rename: typeof rename;
  readonly unlink: typeof unlink;
}

const nodeCalls: FileCalls = { link, open, rename, unlink };

/** Options of `replaceFile`. */
export interface ReplaceOptions {
  /** Runs when the new content is on disk, before it replaces the file; a throw leaves the file unchanged. */
  readonly before?: () => Promise<void>;
  readonly files?: FileCalls;
}

/**
 * Replaces the file at `path` with `content`; on disk when it resolves. The directory must exist. The new content is
 * first written to `<path>.<pid>.<12 hex digits>.tmp`, which is removed on failure.
 * @throws a file system error, or the error of `before`
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  { before, files = nodeCalls }: ReplaceOptions = {},
): Promise<void> {
  const staged = stagedName(path);
  try {
    await writeWhole(staged, content, files);
    await before?.();
    await files.rename(staged, path);
  } catch (error) {
    await files.unlink(staged).catch(() => undefined); // the file may not have been created
    throw error;
  }
  await syncDirectory(dirname(path), files);
}

/**
 * Like `replaceFile`, but only if the file does not exist: among several processes, the first wins.
 * @returns whether this call created the file
 */
export async function createFile(
  path: string,
  content: string | Uint8Array,
  files: FileCalls = nodeCalls,
): Promise<boolean> {
  const staged = stagedName(path);
  try {
    await writeWhole(staged, content, files);
    await files.link(staged, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await files.unlink(staged).catch(() => undefined);
  }
  await syncDirectory(dirname(path), files);
  return true;
}

function stagedName(path: string): string {
  return `${path}.${process.pid}.${randomBytes(6).toString("hex")}.tmp`;
}

async function writeWhole(path: string, content: string | Uint8Array, files: FileCalls): Promise<void> {
  const handle = await files.open(path, "wx", 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes a new directory entry durable. Some file systems cannot sync a directory and do not need it. */
async function syncDirectory(directory: string, files: FileCalls): Promise<void> {
  const handle = await files.open(directory, "r");
  try {
    await handle.sync();
  } catch (error) {
    if (!["EINVAL", "ENOTSUP", "EPERM"].includes(String((error as NodeJS.ErrnoException).code))) throw error;
  } finally {
    await handle.close();
  }
}
