/**
 * Reads a file that only its owner may change or read. All checks run on the open handle, so the checked file is the
 * file that is read.
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Why a file cannot be read. `foreign`: it belongs neither to this user nor to root. */
export type FileFault =
  | { readonly fault: "missing" | "link" | "special" | "foreign" | "too-large" }
  | { readonly fault: "open-to-others"; readonly mode: number };

/** Requirements for the file. */
export interface PrivateFileOptions {
  readonly maxBytes: number;
  /** Permissions others must not have, as mode bits: 0o022 to write, 0o066 to read or write. */
  readonly denied: number;
  /**
   * User that may own the file. Default: the user of the process; `undefined` on systems without users: owner and mode
   * are not checked.
   */
  readonly uid?: number | undefined;
}

/**
 * The bytes of a regular file. Never follows a link, never waits for a pipe.
 * @throws Error of the file system for all problems other than a `FileFault`
 */
export async function readPrivateFile(path: string, options: PrivateFileOptions): Promise<Buffer | FileFault> {
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const fault = OPENING.get(String((error as NodeJS.ErrnoException).code));
    if (fault) return { fault };
    throw error;
  }
  try {
    return (await faultOf(handle, options)) ?? (await readBounded(handle, options.maxBytes));
  } finally {
    await handle.close();
  }
}

/**
 * The value in a private JSON file; `undefined`: there is no file.
 * @throws Error with the reason, without content, if the file cannot be used
 */
export async function readPrivateJson(path: string, options: PrivateFileOptions): Promise<unknown> {
  const read = await readPrivateFile(path, options);
  if (!Buffer.isBuffer(read)) {
    if (read.fault === "missing") return undefined;
    throw new Error(`it is not a private file (${read.fault})`);
  }
  try {
    return JSON.parse(read.toString()) as unknown;
  } catch {
    throw new Error("it is not JSON");
  }
}

const OPENING: ReadonlyMap<string, "missing" | "link" | "special"> = new Map([
  ["ENOENT", "missing"],
  ["ENOTDIR", "missing"],
  ["ELOOP", "link"],
  ["ENXIO", "special"],
]);

async function faultOf(handle: FileHandle, options: PrivateFileOptions): Promise<FileFault | undefined> {
  const { maxBytes, denied } = options;
  const uid = "uid" in options ? options.uid : process.getuid?.();
  const { mode, uid: owner, size } = await handle.stat();
  if ((mode & constants.S_IFMT) !== constants.S_IFREG) return { fault: "special" };
  if (uid !== undefined && owner !== uid && owner !== 0) return { fault: "foreign" };
  if (uid !== undefined && (mode & denied) !== 0) return { fault: "open-to-others", mode: mode & 0o777 };
  return size > maxBytes ? { fault: "too-large" } : undefined;
}

/** The file may grow while it is read: one byte over the limit is enough to know. */
async function readBounded(handle: FileHandle, maxBytes: number): Promise<Buffer | FileFault> {
  const chunks: Buffer[] = [];
  let size = 0;
  for (;;) {
    const buffer = Buffer.alloc(Math.min(64 * 1_024, maxBytes + 1 - size));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
    if (bytesRead === 0) return Buffer.concat(chunks);
    chunks.push(buffer.subarray(0, bytesRead));
    size += bytesRead;
    if (size > maxBytes) return { fault: "too-large" };
  }
}
