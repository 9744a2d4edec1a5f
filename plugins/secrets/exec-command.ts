/** Checks which program an `exec` provider may run. Spec: http/config.md §6. */
import { constants } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isInside } from "@svc/sdk/files";
import { codeOf } from "./printable.ts";
import type { ExecSettings } from "./source-settings.ts";

/**
 * The real path of the program with every symbolic link resolved, so that the checked file is the one that runs.
 * @param uid user of the gateway; `undefined` on platforms without user ids, where owner and mode are not checked
 * @throws Error with the cause and the next step
 */
export async function trustedCommand(settings: ExecSettings, uid: number | undefined): Promise<string> {
  const { command, allowSymlinkCommand, allowInsecurePath, trustedDirs } = settings;
  const { real, isLink } = await locate(command);
  if (isLink && !allowSymlinkCommand) {
    throw new Error(`${command} is a symbolic link; name the program itself, or set allowSymlinkCommand to true`);
  }
  if (trustedDirs && !(await liesIn(real, trustedDirs))) {
    throw new Error(`${command} is outside of trustedDirs; add its directory there, or name another program`);
  }
  const { mode, uid: owner } = await stat(real).catch(refuseMissing(command));
  if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw new Error(`${command} is not a program; name a file`);
  if (uid === undefined || allowInsecurePath) return real;
  const orAllow = "or set allowInsecurePath to true";
  if (owner !== uid && owner !== 0) {
    throw new Error(`${command} belongs to another user; run: chown ${uid} '${command}', ${orAllow}`);
  }
  if ((mode & 0o022) !== 0) {
    throw new Error(`${command} can be written by others; run: chmod go-w '${command}', ${orAllow}`);
  }
  const open = await openDirectory(real);
  if (open !== undefined) {
    throw new Error(`every user can replace files in ${open}; run: chmod o-w '${open}', ${orAllow}`);
  }
  return real;
}

async function locate(command: string): Promise<{ readonly real: string; readonly isLink: boolean }> {
  try {
    const isLink = (await lstat(command)).isSymbolicLink();
    return { real: await realpath(command), isLink };
  } catch (error) {
    return refuseMissing(command)(error);
  }
}

function refuseMissing(command: string): (error: unknown) => never {
  return (error) => {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR")
      throw new Error(`${command} does not exist; install it, or correct command`);
    throw new Error(`${command} cannot be checked (${code}); make it accessible to the gateway's user`);
  };
}

/** Directories that do not exist are skipped. */
async function liesIn(real: string, directories: readonly string[]): Promise<boolean> {
  for (const directory of directories) {
    const root = await realpath(directory).catch(() => undefined);
    if (root !== undefined && real !== root && isInside(root, real)) return true;
  }
  return false;
}

/** Choice: the nearest parent directory in which every user can rename files; the sticky bit prevents that. */
async function openDirectory(real: string): Promise<string | undefined> {
  for (let directory = dirname(real); ; directory = dirname(directory)) {
    const { mode } = await stat(directory);
    if ((mode & 0o002) !== 0 && (mode & 0o1000) === 0) return directory;
    if (directory === dirname(directory)) return undefined;
  }
}
