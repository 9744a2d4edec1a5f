/** Whose files a plugin's code is: what another user owns or may write could become anybody's code. */
import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

export interface OwnershipOptions {
  /** Above it nothing is looked at: who may change it may change the configuration. */
  readonly configDir: string;
  /** Whom the files may belong to, beside root. Default: the user of this process; `undefined`: a system without owners. */
  readonly user?: number | undefined;
}

/** Links on the way to one path; systems give up as early. */
const MOST_LINKS = 40;

/**
 * Refuses a plugin whose files, or the directories and links on the way to them, belong to others than the gateway's user and root, or may be
 * written by others. Choice: `node_modules` and what a single file imports are not looked at; a group may write what has the number of its
 * owner (the private group of umask 002); in a directory with the sticky bit, like /tmp, others change only what is theirs.
 * @throws Error with the path, its owner and mode, and the command that mends it
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

/** The file or directory itself, each directory above it, and the same of what links lead to. */
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

/** @param root of the plugin, for what lies in it */
function refuseStats(path: string, stats: Stats, user: number, root?: string): void {
  const { uid, gid, mode } = stats;
  const what = `${path} (owner ${uid}, group ${gid}, mode ${(mode & 0o7777).toString(8)})`;
  const [recursive, place] = root === undefined ? ["", path] : ["-R ", root];
  if (uid !== user && uid !== 0)
    throw new Error(
      `${what} belongs to another user, who could change the plugin's code\nNext: chown ${recursive}${user} '${place}', or copy the plugin below the directory of the configuration`,
    );
  const keepsNames = stats.isDirectory() && (mode & 0o1000) !== 0;
  if (stats.isSymbolicLink() || keepsNames) return; // the mode of a link says nothing
  const others = (mode & 0o002) !== 0 ? "everyone" : (mode & 0o020) !== 0 && gid !== uid ? `group ${gid}` : undefined;
  if (others !== undefined)
    throw new Error(`${what} is writable by ${others}\nNext: chmod ${recursive}go-w '${place}'`);
}
