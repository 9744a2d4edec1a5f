/**
 * Writes files with untrusted names: below one directory, atomically, and only regular files with one hard link.
 *
 * The draft is opened first and compared with its path, as for reads, so the content never lands elsewhere.
 */
import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, realpath, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError, invalidRequest, unavailable } from "@svc/sdk";
import { MAX_FILE_BYTES } from "./rooted.ts";
import {
  hasCode,
  look,
  printable,
  requirePlain,
  requireSame,
  stepsOf,
  syncDirectory,
  walk,
  type Walked,
} from "./rooted-steps.ts";

export { syncDirectory };

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Characters of the name used in the name of its draft, so that drafts of long names fit. */
const DRAFT_CHARS = 40;

/** Options of a write. */
export interface RootedWriteOptions {
  /** File mode; `kept`: the mode of the replaced file, else 0600; set-id bits are never applied. Default 0600. */
  readonly mode?: number | "kept";
  /** The expected current file as it was read, or `null` for none. Default: any existing file is replaced. */
  readonly expected?: Stats | null;
  /** Default 1 MiB. */
  readonly maxBytes?: number;
}

/**
 * Writes a file of mode 0600 below `root` (text as UTF-8) and replaces an existing one; missing directories are created
 * (0700). Everything is on disk when this resolves; after a crash, either the former or the new file exists.
 * @throws GatewayError `INVALID_REQUEST` for more than `maxBytes`, if the existing entry is not a regular file with one hard
 * link, or if a step is not a directory; `CONFLICT` if the file is no longer `expected`
 */
export async function writeWithin(
  root: string,
  name: string,
  content: string | Uint8Array,
  options: RootedWriteOptions = {},
): Promise<Stats> {
  const bytes = typeof content === "string" ? Buffer.from(content, "utf8") : Buffer.from(content);
  const steps = stepsOf(name);
  const last = steps.at(-1) ?? "";
  const { maxBytes = MAX_FILE_BYTES } = options;
  if (bytes.length > maxBytes) {
    invalidRequest(`${printable(name)}: ${bytes.length} bytes are too many; the limit is ${maxBytes}`);
  }
  const written = await walk(await realpath(root), steps.slice(0, -1), { name, make: true }, (directory) =>
    replace({ directory, last, name }, bytes, options),
  );
  return written ?? unavailable(`${printable(name)}: its directory was removed meanwhile; try again`);
}

/** Location of a file. */
interface Spot {
  readonly directory: Walked;
  readonly last: string;
  /** Name as given by the caller. */
  readonly name: string;
}

async function replace(spot: Spot, bytes: Buffer, { mode, expected }: RootedWriteOptions): Promise<Stats> {
  const { directory, last, name } = spot;
  const path = join(directory.base, last);
  const former = await replaceable(spot, expected);
  const draftName = `.${last.slice(0, DRAFT_CHARS)}.${randomBytes(6).toString("hex")}.tmp`;
  const draft = join(directory.base, draftName);
  const file = await open(draft, CREATE, 0o600);
  try {
    await requireSame(directory, draftName, await file.stat(), name);
    await file.writeFile(bytes);
    const wanted = mode === "kept" ? former?.mode : mode;
    if (wanted !== undefined) await file.chmod(wanted & 0o777);
    await file.sync();
    await file.close();
    await replaceable(spot, expected);
    await rename(draft, path);
  } catch (error) {
    await file.close().catch(() => undefined);
    await unlink(draft).catch(() => undefined);
    throw error;
  }
  await syncDirectory(directory.base);
  return lstat(path);
}

/** Checks that the current entry may be replaced. @throws GatewayError `INVALID_REQUEST`, `CONFLICT` */
async function replaceable({ directory, last, name }: Spot, expected?: Stats | null): Promise<Stats | undefined> {
  const stats = await look(join(directory.base, last));
  await directory.check();
  if (stats) requirePlain(stats, name);
  const isExpected = expected === null ? stats === undefined : expected === undefined || isUnchanged(stats, expected);
  if (!isExpected)
    throw new GatewayError(
      "CONFLICT",
      `${printable(name)} is not in the expected state: it was changed, created or removed meanwhile; read it again`,
    );
  return stats;
}

function isUnchanged(now: Stats | undefined, then: Stats): boolean {
  return now?.dev === then.dev && now.ino === then.ino && now.size === then.size && now.mtimeMs === then.mtimeMs;
}

/**
 * Removes a regular file below `root`. The change is on disk when this resolves.
 * @param expected the file as it was read
 * @returns whether the file existed
 * @throws GatewayError `INVALID_REQUEST` if it is not a regular file with one hard link; `CONFLICT` if it is not
 * `expected`
 */
export async function removeWithin(root: string, name: string, expected?: Stats): Promise<boolean> {
  const steps = stepsOf(name);
  const last = steps.at(-1) ?? "";
  const isRemoved = await walk(await realpath(root), steps.slice(0, -1), { name }, async (directory) => {
    if (!(await replaceable({ directory, last, name }, expected))) return false;
    await unlink(join(directory.base, last));
    await syncDirectory(directory.base);
    return true;
  });
  return isRemoved ?? false;
}

/** Like `writeWithin`, but does nothing if the name exists. `real`: links resolved. */
export async function createWithin(real: string, name: string, text: string): Promise<void> {
  let file: FileHandle;
  try {
    file = await open(join(real, ...stepsOf(name)), CREATE, 0o600);
  } catch (error) {
    if (hasCode(error, "EEXIST")) return;
    throw error;
  }
  try {
    await file.writeFile(text);
    await file.sync();
    await file.close();
  } catch (error) {
    await file.close().catch(() => undefined);
    await unlink(join(real, ...stepsOf(name))).catch(() => undefined); // a partial file would count as existing
    throw error;
  }
  await syncDirectory(real);
}
