/** Whether another user of this machine could change what a path names. */
import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** A file or directory that somebody else can change. */
export interface SharedPlace {
  readonly path: string;
  /** `writable`: its mode lets others write. `foreign`: it belongs to neither this user nor root. */
  readonly fault: "writable" | "foreign";
}

/**
 * The first place that another user could change: the file or directory, links followed, or one that it lies in.
 * Choice: the group of this process counts as its user, and a directory with the sticky bit, as `/tmp`, protects what lies in it.
 * @param isDirectoryOf it is asked about a directory for what lies in it: its own sticky bit protects that, too
 * @returns `undefined` when there is none, when nothing is there, and on systems without users
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
