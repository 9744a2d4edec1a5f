/** Files of a state directory that is only read: plain files of this user, below the directory. Links are never followed. */
import { constants, createWriteStream, type Stats } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { directoryWithin, readWithin, statWithin } from "@svc/kit/files";
import { invalidRequest, isGatewayError } from "@svc/sdk";
import JSON5 from "json5";

/** Choice: maximum bytes of one file. A longer transcript is refused by name. */
const MAX_BYTES = 512 * 1_024 * 1_024;
/** Permission of others to read. */
const READABLE_BY_OTHERS = 0o004;

export interface StateFiles {
  readonly directory: string;
  /**
   * The bytes of a file; `undefined`: there is none.
   * @throws GatewayError `INVALID_REQUEST` for a link, a pipe, or a file of another user
   */
  bytes(name: string): Promise<Buffer | undefined>;
  /** @throws GatewayError as `bytes` */
  text(name: string): Promise<string | undefined>;
  /**
   * Copies a file of any length to `to`, mode 0600.
   * @returns its state before; `undefined`: there is none
   * @throws GatewayError as `bytes`
   */
  copy(name: string, to: string): Promise<Stats | undefined>;
  /** The value of a JSON or JSON5 file. @throws GatewayError `INVALID_REQUEST` also when it is not JSON5 */
  json(name: string): Promise<unknown>;
  /** Names in a directory, sorted. Empty: there is none, or it is a link. */
  names(name: string, kind: "file" | "directory"): Promise<string[]>;
  /** Files that were read and that other users of the machine can read. */
  readonly readable: ReadonlySet<string>;
}

export function stateFiles(directory: string): StateFiles {
  const readable = new Set<string>();
  const check = (name: string, { uid, mode }: Stats) => {
    const self = process.getuid?.();
    if (self !== undefined && uid !== self && self !== 0)
      invalidRequest(`${join(directory, name)} belongs to another user; run the import as the user who owns it`);
    if ((mode & READABLE_BY_OTHERS) !== 0) readable.add(name);
  };
  const bytes = async (name: string) => {
    const file = await readWithin(directory, name, { maxBytes: MAX_BYTES });
    if (file) check(name, file.stats);
    return file?.bytes;
  };
  const text = async (name: string) => (await bytes(name))?.toString("utf8");
  return {
    directory,
    readable,
    bytes,
    text,
    async copy(name, to) {
      const seen = await statWithin(directory, name);
      if (!seen) return undefined;
      check(name, seen);
      const path = join(directory, name);
      const source = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const stats = await source.stat();
      if (stats.ino !== seen.ino || stats.dev !== seen.dev) {
        await source.close();
        invalidRequest(`${path} was replaced while it was opened; stop the program that does this`);
      }
      await pipeline(source.createReadStream(), createWriteStream(to, { mode: 0o600 })); // closes both
      return stats;
    },
    async json(name) {
      const found = await text(name);
      if (found === undefined) return undefined;
      try {
        return JSON5.parse<unknown>(found);
      } catch (error) {
        const why = error instanceof Error ? error.message : "";
        return invalidRequest(`${join(directory, name)} is not JSON5: ${why}; correct it, or restore its backup`);
      }
    },
    async names(name, kind) {
      const path = await directoryWithin(directory, name).catch((error: unknown) => {
        if (isGatewayError(error)) return undefined;
        throw error;
      });
      if (path === undefined) return [];
      const entries = await readdir(path, { withFileTypes: true });
      return entries
        .filter((entry) => (kind === "file" ? entry.isFile() : entry.isDirectory()))
        .map((entry) => entry.name)
        .toSorted();
    },
  };
}
