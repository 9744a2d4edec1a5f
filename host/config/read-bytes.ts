/** Reads files of the configuration. Checks and reads the same open file, so that it cannot be swapped in between. */
import { messageOf, unavailable } from "@svc/sdk/errors";
import { constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { isInside } from "@svc/sdk/files";
import { MAX_CONFIG_BYTES } from "./parse.ts";

/** Directory that must contain an included file. */
export interface Containment {
  /** Real path of the directory. */
  readonly directory: string;
}

export interface ReadBytes {
  readonly bytes: Buffer;
  /** Real path of the file. */
  readonly realPath: string;
}

/** Errors of the machine, e.g. too many open files or a failing disk, which do not concern the file itself. */
const PASSING: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN", "EBUSY", "EIO", "ENOSPC"]);

/**
 * The bytes of a regular file of at most 2 MiB. With `within`, the file must have no hard links and its real path must be inside.
 * Never waits for a pipe. @throws GatewayError `UNAVAILABLE` when the machine cannot read any file now; Error of the file system,
 * or one naming the violated rule
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
      if (!isInside(within.directory, realPath)) throw new Error(`the file is outside ${within.directory}`);
      const there = await stat(realPath);
      if (there.ino !== opened.ino || there.dev !== opened.dev) throw new Error("it was replaced while it was read");
    }
    return { bytes: await readAtMost(handle, MAX_CONFIG_BYTES), realPath }; // throws EISDIR for a directory
  } finally {
    await handle.close();
  }
}

/** Reads to the end; the file may have grown since the size was checked. */
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

/** Decodes UTF-8 and keeps the byte order mark. @throws TypeError for invalid UTF-8, which writing back would change */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}
