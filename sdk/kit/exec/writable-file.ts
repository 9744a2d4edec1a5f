/** Which files agents can write: those that the operating system does not keep for root alone. */
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isInside } from "@svc/sdk/files";

/** Choice: where programs of the system lie. Only looked at for a gateway that runs as root, which may write everywhere. */
const OF_THE_SYSTEM = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/opt",
  "/nix/store",
  "/System",
  "/Library",
];

/** Group or others may write; in a directory with this bit, only the owner of a name can replace what it means. */
const SHARED = 0o022;
const STICKY = 0o1000;

/**
 * Whether an agent could put other bytes there. False only where the file and every directory above it belong to root and nobody
 * else may write them; a process that is root itself counts only the directories of the system as such.
 * @param path absolute, without symbolic links
 * @param uid of this process; `undefined`: the system has no owners, and every file counts as one that agents can write
 * @throws Error of the file system, when there is no such file
 */
export async function agentsCanWrite(path: string, uid: number | undefined = process.getuid?.()): Promise<boolean> {
  if (uid === undefined) return true;
  if (uid === 0 && !OF_THE_SYSTEM.some((directory) => isInside(directory, path))) return true;
  for (let at = path; ; at = dirname(at)) {
    const stats = await stat(at);
    const isKept = stats.isDirectory() && (stats.mode & STICKY) !== 0;
    if (stats.uid !== 0 || ((stats.mode & SHARED) !== 0 && !isKept)) return true;
    if (at === dirname(at)) return false;
  }
}
