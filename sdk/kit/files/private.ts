/** Reading a file that only its owner may change or see: all checks on the open handle, so that what was checked is what is read. */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** What keeps a file from being read. `foreign`: it belongs to somebody else than this user or root. */
export type FileFault =
  | { readonly fault: "missing" | "link" | "special" | "foreign" | "too-large" }
  | { readonly fault: "open-to-others"; readonly mode: number };

/** What is asked of the file. */
export interface PrivateFileOptions {
  readonly maxBytes: number;
  /** Rights others may not have, as bits of the mode: 0o022 to write, 0o066 to read or write. */
  readonly denied: number;
  /** User it may belong to. Default: that of the process; `undefined` where there are none: owner and mode are not looked at. */
  readonly uid?: number | undefined;
}

/**
 * The bytes of a plain file. Never follows a link, never waits for a pipe.
 * @throws Error of the file system for all but what `FileFault` names
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

/** The file may grow while it is read: one byte more than allowed is enough to know. */
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
