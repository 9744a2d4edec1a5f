/** Whether another user of this machine could change the file at a path. */
import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** A file or directory that another user can change. */
export interface SharedPlace {
  readonly path: string;
  /** `writable`: its mode lets others write. `foreign`: its owner is neither this user nor root. */
  readonly fault: "writable" | "foreign";
}

/**
 * The first entry that another user could change: the file or directory (links resolved) or one of its parent
 * directories. Choice: the group of this process counts as its user, and a sticky directory such as `/tmp` protects its
 * entries.
 * @param isDirectoryOf the path is a directory checked for the sake of its entries: its own sticky bit protects them,
 * too
 * @returns `undefined` if there is none, if the path does not exist, and on systems without users
 */
export async function sharedPlace(path: string, isDirectoryOf = false): Promise<SharedPlace | undefined> {
  const uid = process.getuid?.();
  if (uid === undefined) return undefined;
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return undefined;
  for (let place = real; ; place = dirname(place)) {
    const { mode, uid: owner, gid } = await stat(place);
    const isSticky = (place !== real || isDirectoryOf) && (mode & 0o1000) !== 0;
    const isWritable = (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== process.getgid?.());
    if (isWritable && !isSticky) return { path: place, fault: "writable" };
    if (owner !== uid && owner !== 0) return { path: place, fault: "foreign" };
    if (place === dirname(place)) return undefined;
  }
}
