/**
 * Writes the configuration file so that a crash at any time leaves either the old or the new text, and keeps the five
 * previous texts. Spec: http/config.md §4.2.
 */
import { link, lstat, mkdir, open, readdir, readFile, readlink, realpath, rename, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { invalidRequest, isGatewayError, messageOf, unavailable } from "@svc/sdk";
import { type FileCalls, isAlive, replaceFile, withWriteLock } from "@svc/sdk/files";
import { sha256 } from "./parse.ts";

/** The file system functions used here; a test can make each one fail. */
export interface Files extends FileCalls {
  readonly lstat: typeof lstat;
  readonly mkdir: typeof mkdir;
  readonly readFile: (path: string) => Promise<Buffer>;
  readonly readlink: (path: string) => Promise<string>;
  readonly realpath: (path: string) => Promise<string>;
}

export const nodeFiles: Files = { link, lstat, mkdir, open, readFile, readlink, realpath, rename, unlink };

const SOON = { retryAfterMs: 1_000 };

/** `.bak` is the newest, `.bak.4` the oldest. */
const BACKUPS = ["", ".1", ".2", ".3", ".4"].map((number) => `.bak${number}`);

export interface WriteOptions {
  /** Hash of the text that the change is based on; a different hash on disk is a conflict. */
  readonly expectedHash: string;
  readonly files?: Files;
}

/**
 * Writes `text` to `path`, mode 0600; it is on disk when this resolves. For a symbolic link, writes its target and puts the
 * backups next to the link. Order: write and sync a temporary file, back up the old text, rename, sync the directory. A lock
 * makes other writers wait, so that no acknowledged write is lost.
 * @throws GatewayError `INVALID_REQUEST` when the file changed meanwhile, `UNAVAILABLE` naming the cause
 */
export async function writeConfigFile(path: string, text: string, options: WriteOptions): Promise<void> {
  const files = options.files ?? nodeFiles;
  try {
    const target = await targetOf(path, files);
    await files.mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await withWriteLock(target, (lock) => {
      const before = async () => {
        const old = await readIfThere(target, files);
        if (sha256(old ?? "") !== options.expectedHash) configChanged();
        if (old) await keepBackup(path, old, files);
        const now = old && (await readIfThere(target, files)); // editors ignore the lock
        if (sha256(now ?? "") !== options.expectedHash) configChanged();
        if (!lock.isMine()) unavailable("this process was suspended while it wrote the configuration; try again", SOON);
      };
      return replaceFile(target, text, { before, files });
    });
  } catch (cause) {
    if (isGatewayError(cause)) throw cause;
    const why = messageOf(cause);
    unavailable(
      `the configuration ${path} could not be written: ${why}; free disk space or correct its permissions, then try again`,
      { cause, ...SOON },
    );
  }
}

/** Reports that the file changed since it was read. @throws GatewayError `INVALID_REQUEST` always. Spec: methods-config.md §3 */
export function configChanged(): never {
  invalidRequest("config changed since last load; re-run config.get and retry");
}

/** The target of a link, even if it does not exist. */
async function targetOf(path: string, files: Files): Promise<string> {
  try {
    return await files.realpath(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const link = await files.lstat(path).catch(absent);
  return link?.isSymbolicLink() ? resolve(dirname(path), await files.readlink(path)) : path;
}

async function readIfThere(path: string, files: Files): Promise<Buffer | undefined> {
  return files.readFile(path).catch(absent);
}

function absent(error: unknown): undefined {
  if (!isMissing(error)) throw error;
  return undefined;
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

/** Renames each backup to the next older one. A crash in between leaves a gap, never a partial file. */
async function keepBackup(path: string, bytes: Buffer, files: Files): Promise<void> {
  const [newest = ".bak"] = BACKUPS;
  const before = async () => {
    for (let index = BACKUPS.length - 1; index > 0; index--)
      await files.rename(`${path}${BACKUPS[index - 1]}`, `${path}${BACKUPS[index]}`).catch(absent);
  };
  await replaceFile(path + newest, bytes, { before, files });
}

/**
 * Removes temporary files of writers that were killed.
 * @returns their names. Never throws; a file that cannot be removed is harmless.
 */
export async function removeLeftovers(path: string): Promise<string[]> {
  const target = await targetOf(path, nodeFiles).catch(() => path); // for a link, backups are next to the link, other files next to its target
  const both = target === path ? [path] : [path, target];
  return (await Promise.all(both.map(removeBeside))).flat();
}

async function removeBeside(path: string): Promise<string[]> {
  const [directory, name] = [dirname(path), basename(path)];
  const names = await readdir(directory).catch(() => []);
  const left = names.filter((other) => {
    const [, pid] = /^(?:\.lock|\.bak(?:\.\d)?)?\.(\d+)\.[0-9a-f]{12}\.tmp$/.exec(other.slice(name.length)) ?? [];
    return other.startsWith(name) && pid !== undefined && !isAlive(Number(pid));
  });
  await Promise.all(left.map((other) => unlink(join(directory, other)).catch(() => undefined)));
  return left;
}
