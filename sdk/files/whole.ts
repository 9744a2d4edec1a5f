/** Files that are there whole or not at all, whenever a process or the machine stops; mode 0600. */
import { randomBytes } from "node:crypto";
import { link, open, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";

/** What is used of the file system, so that a test can make any step fail. */
export interface FileCalls {
  readonly link: typeof link;
  readonly open: typeof open;
  readonly rename: typeof rename;
  readonly unlink: typeof unlink;
}

const nodeCalls: FileCalls = { link, open, rename, unlink };

/** How a file is replaced. */
export interface ReplaceOptions {
  /** Runs when the new content is on disk and before it takes its place; a throw leaves all as it was. */
  readonly before?: () => Promise<void>;
  readonly files?: FileCalls;
}

/**
 * Puts `content` at `path`, in the place of what is there: on disk when it resolves. The directory must be there.
 * Until then it lies beside, as `<path>.<pid>.<12 hex digits>.tmp`; a failure leaves nothing of it.
 * @throws Error of the file system, or what `before` throws
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
    await files.unlink(staged).catch(() => undefined); // it may not have come to be
    throw error;
  }
  await syncDirectory(dirname(path), files);
}

/**
 * As `replaceFile`, and only where nothing is there: of several processes the first wins.
 * @returns whether it was this one
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

/** Makes a new name last. Some file systems cannot sync a directory; there it lasts without. */
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
