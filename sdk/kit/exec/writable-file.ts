/** Files that agents can write: those that the operating system does not reserve for root. */
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isInside } from "@svc/sdk/files";

/** Choice: directories of system programs. Only used if the gateway runs as root, which may write everywhere. */
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

/** Group or others may write; in a sticky directory, only the owner of an entry can replace it. */
const SHARED = 0o022;
const STICKY = 0o1000;

/**
 * Whether an agent could change the file. False only if the file and all directories above it belong to root and no
 * other user may write them; for a process that runs as root, only system directories qualify.
 * @param path absolute, without symbolic links
 * @param uid of this process; `undefined`: the system has no owners, and every file counts as writable by agents
 * @throws a file system error if the file does not exist
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
