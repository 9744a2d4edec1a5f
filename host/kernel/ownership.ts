/** Checks who owns and may write a plugin's files: another user with that access could replace its code. */
import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

export interface OwnershipOptions {
  /** Directories above it are not checked: anyone who can change this directory can change the configuration. */
  readonly configDir: string;
  /** User id that may own the files, in addition to root. Default: the user of this process; `undefined`: a system without owners. */
  readonly user?: number | undefined;
}

/** Maximum number of symbolic links followed on the way to one path; operating systems have a similar limit. */
const MOST_LINKS = 40;

/**
 * Refuses a plugin if its files, or the directories and links on the path to them, belong to users other than the gateway's and root, or are
 * writable by others. Choice: `node_modules` and the imports of a single file are not checked. A group may have write access if its id equals
 * the owner's (the private group of umask 002). A directory with the sticky bit, like /tmp, is accepted: others can change only their own files.
 * @throws Error with the path, its owner and mode, and the command that fixes it
 */
export async function refuseForeignCode(plugin: string, options: OwnershipOptions): Promise<void> {
  const user = "user" in options ? options.user : process.getuid?.();
  if (user === undefined) return;
  refuseWay(plugin, resolve(options.configDir), user);
  const real = await realpath(plugin);
  if ((await lstat(real)).isDirectory()) await refuseBelow(real, user, real);
}

async function refuseBelow(directory: string, user: number, root: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name === "node_modules" || name === ".git") continue;
    const path = join(directory, name);
    const stats = await lstat(path);
    if (!stats.isSymbolicLink()) refuseStats(path, stats, user, root);
    if (stats.isDirectory()) await refuseBelow(path, user, root);
  }
}

/** Checks the file or directory, each directory above it up to `configDir`, and the same for the target of each link. */
function refuseWay(path: string, configDir: string, user: number, links = 0): void {
  for (let current = path; ; current = dirname(current)) {
    const stats = lstatSync(current);
    refuseStats(current, stats, user);
    if (stats.isSymbolicLink()) {
      if (links === MOST_LINKS) throw new Error(`${path} leads through more than ${MOST_LINKS} symbolic links`);
      refuseWay(resolve(dirname(current), readlinkSync(current)), configDir, user, links + 1);
    }
    if (current === configDir || current === dirname(current)) return;
  }
}

/** @param root directory of the plugin, if `path` is inside it */
function refuseStats(path: string, stats: Stats, user: number, root?: string): void {
  const { uid, gid, mode } = stats;
  const what = `${path} (owner ${uid}, group ${gid}, mode ${(mode & 0o7777).toString(8)})`;
  const [recursive, place] = root === undefined ? ["", path] : ["-R ", root];
  if (uid !== user && uid !== 0)
    throw new Error(
      `${what} belongs to another user, who could change the plugin's code\nNext: chown ${recursive}${user} '${place}', or copy the plugin below the directory of the configuration`,
    );
  const keepsNames = stats.isDirectory() && (mode & 0o1000) !== 0;
  if (stats.isSymbolicLink() || keepsNames) return; // the mode of a link is meaningless
  const others = (mode & 0o002) !== 0 ? "everyone" : (mode & 0o020) !== 0 && gid !== uid ? `group ${gid}` : undefined;
  if (others !== undefined)
    throw new Error(`${what} is writable by ${others}\nNext: chmod ${recursive}go-w '${place}'`);
}
