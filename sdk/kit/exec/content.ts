/** The content of a file: read once, hashed and bounded. */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Choice: bytes of a file that are looked through for names. */
const MAX_HEAD_BYTES = 128 * 1_024;
const CHUNK_BYTES = 256 * 1_024;

/** What is read of a file. */
export interface ReadContent {
  readonly sha256: string;
  readonly bytes: number;
  /** Its first 128 KiB, as text of one byte each. */
  readonly head: string;
}

/**
 * Reads a plain file once, from one open handle. Follows no link at its end and waits for no pipe.
 * @param most bytes; beyond that it is `too-large`, also for a file that grows meanwhile
 * @param write gets the very bytes that are hashed
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

/** Not there, or nothing that could be opened by this name. */
export function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "EACCES", "EINVAL"].includes(String(code));
}
