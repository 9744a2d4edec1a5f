/**
 * Writing files whose name comes from outside: below one directory, whole or not at all, plain files with one name only.
 *
 * The draft is opened first and compared with what its path leads to, as a read is: what is written never lands elsewhere.
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

/** Characters of a name that its draft has, so that long names have room for one. */
const DRAFT_CHARS = 40;

/** How a file is written. */
export interface RootedWriteOptions {
  /** Its permissions; `kept`: those of what is replaced, else 0600; never bits that lend an identity. Default 0600. */
  readonly mode?: number | "kept";
  /** What has to be there still: the file as it was read, or `null` for nothing. Default: whatever is there is replaced. */
  readonly expected?: Stats | null;
}

/**
 * Puts a file of mode 0600 below `root`, a text in UTF-8, in the place of what has that name; directories on the way are made (0700). All of
 * it is on disk when this resolves; a crash leaves the former file or the new one.
 * @throws GatewayError `INVALID_REQUEST` for more than 1 MiB, and when what is there is not a plain file with one name, or a
 * step on the way is no directory; `CONFLICT` when `expected` is not there any more
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
  if (bytes.length > MAX_FILE_BYTES) {
    invalidRequest(`${printable(name)}: ${bytes.length} bytes are too many; at most ${MAX_FILE_BYTES} can be written`);
  }
  const written = await walk(await realpath(root), steps.slice(0, -1), { name, make: true }, (directory) =>
    replace({ directory, last, name }, bytes, options),
  );
  return written ?? unavailable(`${printable(name)}: its directory was removed meanwhile; try again`);
}

/** Where a file stands. */
interface Spot {
  readonly directory: Walked;
  readonly last: string;
  /** As the caller wrote it. */
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

/** What is there may be replaced. @throws GatewayError `INVALID_REQUEST`, `CONFLICT` */
async function replaceable({ directory, last, name }: Spot, expected?: Stats | null): Promise<Stats | undefined> {
  const stats = await look(join(directory.base, last));
  await directory.check();
  if (stats) requirePlain(stats, name);
  const isExpected = expected === null ? stats === undefined : expected === undefined || isUnchanged(stats, expected);
  if (!isExpected) throw new GatewayError("CONFLICT", `${printable(name)} changed since it was read; read it again`);
  return stats;
}

function isUnchanged(now: Stats | undefined, then: Stats): boolean {
  return now?.dev === then.dev && now.ino === then.ino && now.size === then.size && now.mtimeMs === then.mtimeMs;
}

/**
 * Takes a plain file away from below `root`. The change is on disk when this resolves.
 * @param expected the file as it was read @returns whether there was one
 * @throws GatewayError `INVALID_REQUEST` for what is not a plain file with one name; `CONFLICT` when it is not `expected`
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

/** As `writeWithin` where nothing has that name yet; otherwise, nothing is done. `real`: links followed. */
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
    await unlink(join(real, ...stepsOf(name))).catch(() => undefined); // half of it would count as there
    throw error;
  }
  await syncDirectory(real);
}
