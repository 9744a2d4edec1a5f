/** Reads, hashes and limits the content of a file in one pass. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Choice: bytes of a file that are searched for names. */
const MAX_HEAD_BYTES = 128 * 1_024;
const CHUNK_BYTES = 256 * 1_024;

/** Result of reading a file. */
export interface ReadContent {
  readonly sha256: string;
  readonly bytes: number;
  /** Its first 128 KiB as Latin-1 text. */
  readonly head: string;
}

/**
 * Reads a regular file once, from one open handle. Does not follow a final link and does not wait for a pipe.
 * @param most maximum bytes; a larger file is `too-large`, even if it grows during the read
 * @param write receives exactly the hashed bytes
 */
export async function readContent(
  path: string,
  most: number,
  write?: (chunk: Buffer) => Promise<unknown>,
): Promise<ReadContent | "gone" | "too-large" | "unreadable"> {
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") return "unreadable";
    if (isGone(error) || code === "ENXIO") return "gone";
    throw error;
  }
  try {
    const { size, ...stats } = await handle.stat();
    if ((stats.mode & constants.S_IFMT) !== constants.S_IFREG) return "gone";
    if (size > most) return "too-large";
    const hash = createHash("sha256");
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let [bytes, head] = [0, ""];
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return { sha256: hash.digest("hex"), bytes, head };
      const chunk = buffer.subarray(0, bytesRead);
      bytes += bytesRead;
      if (bytes > most) return "too-large";
      hash.update(chunk);
      if (head.length < MAX_HEAD_BYTES) head += chunk.toString("latin1", 0, MAX_HEAD_BYTES - head.length);
      await write?.(chunk);
    }
  } finally {
    await handle.close();
  }
}

/** The file does not exist, or cannot be opened under this name. */
export function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "EACCES", "EINVAL"].includes(String(code));
}
