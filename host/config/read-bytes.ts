/** Opens files of the configuration: checks and reads the same open file, so that nothing can be put in its place between. */
import { messageOf, unavailable } from "@svc/sdk/errors";
import { constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { isInside } from "@svc/sdk/files";
import { MAX_CONFIG_BYTES } from "./parse.ts";

/** Where an included file may lie. */
export interface Containment {
  /** Real path of the directory. */
  readonly directory: string;
}

export interface ReadBytes {
  readonly bytes: Buffer;
  /** Where the file really lies. */
  readonly realPath: string;
}

/** The machine has no room for another open file, or its disk fails: neither says anything about the file. */
const PASSING: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN", "EBUSY", "EIO", "ENOSPC"]);

/**
 * The bytes of a regular file of at most 2 MiB. With `within`, the file must have one name only and really lie there.
 * Never waits for a pipe. @throws GatewayError `UNAVAILABLE` when the machine cannot read any file now; Error of the file system,
 * or one that says which rule is broken
 */
export async function readRegularFile(path: string, within?: Containment): Promise<ReadBytes> {
  try {
    return await readWhole(path, within);
  } catch (cause) {
    if (!PASSING.has((cause as NodeJS.ErrnoException).code)) throw cause;
    return unavailable(`${path} cannot be read now: ${messageOf(cause)}; try again`, { cause, retryAfterMs: 1_000 });
  }
}

async function readWhole(path: string, within: Containment | undefined): Promise<ReadBytes> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const opened = await handle.stat();
    if (!opened.isFile() && (within || !opened.isDirectory())) throw new Error("it is not a regular file");
    if (opened.size > MAX_CONFIG_BYTES) throw tooLarge();
    const realPath = await realpath(path);
    if (within) {
      if (opened.nlink > 1) throw new Error("it has hard links; copy it instead");
      if (!isInside(within.directory, realPath)) throw new Error(`it lies outside ${within.directory}`);
      const there = await stat(realPath);
      if (there.ino !== opened.ino || there.dev !== opened.dev) throw new Error("it was replaced while it was read");
    }
    return { bytes: await readAtMost(handle, MAX_CONFIG_BYTES), realPath }; // a directory says EISDIR here
  } finally {
    await handle.close();
  }
}

/** Reads to the end; the size may have grown since it was looked at. */
async function readAtMost(handle: FileHandle, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(64 * 1024));
    if (bytesRead === 0) return Buffer.concat(chunks);
    total += bytesRead;
    if (total > limit) throw tooLarge();
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

function tooLarge(): Error {
  return new Error("it is larger than 2 MiB");
}

/** UTF-8, byte order mark kept. @throws TypeError for bytes that are no UTF-8: writing them back would change them */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}
