/**
 * The part of this machine visible to every sandboxed program: its programs and libraries, and the public part of
 * `/etc`.
 */
import { lstat, readdir, readlink, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { isInside } from "@svc/sdk/files";
import type { Existing, Mount } from "./mounts.ts";

/**
 * Choice: lists what is visible, not what is hidden. `/home`, `/root`, `/run`, `/srv`, `/mnt`, `/sys` and the rest of
 * `/var` are absent.
 */
const SHOWN = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store"];

/**
 * In `/etc`, a program sees only world-readable files, whatever user the gateway runs as: no password hashes, keys or
 * private settings.
 */
export async function systemMounts(shown: readonly string[] = SHOWN, etc = "/etc"): Promise<Mount[]> {
  const found = (await Promise.all(shown.map(asItStands))).flat();
  const secret = await privateBelow(etc);
  return [...found, ...(await nameServers(found)), ...secret.map((one): Mount => ({ kind: "nothing", ...one }))];
}

async function asItStands(path: string): Promise<Mount[]> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats === undefined) return [];
  return stats.isSymbolicLink() ? [{ kind: "link", path, to: await readlink(path) }] : [{ kind: "read", path }];
}

/** The target of `/etc/resolv.conf`, which many systems place below `/run`. */
async function nameServers(shown: readonly Mount[]): Promise<Mount[]> {
  const path = await realpath("/etc/resolv.conf").catch(() => undefined);
  if (path === undefined || shown.some((one) => isInside(one.path, path))) return [];
  return [{ kind: "read", path }];
}

/** The topmost entries below a directory that are not world-readable. */
async function privateBelow(directory: string): Promise<Existing[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const found = entries.map(async (entry): Promise<Existing[]> => {
    if (entry.isSymbolicLink()) return [];
    const path = join(directory, entry.name);
    const of = entry.isDirectory() ? "directory" : "file";
    const open = of === "directory" ? 0o005 : 0o004;
    const stats = await lstat(path).catch(() => undefined);
    if (stats === undefined) return [];
    if ((stats.mode & open) !== open) return [{ path, of }];
    return of === "directory" ? privateBelow(path) : [];
  });
  return (await Promise.all(found)).flat();
}

/** The existing ones of the paths, links resolved. */
export async function existing(paths: readonly string[]): Promise<Existing[]> {
  const found = paths.map(async (given): Promise<Existing[]> => {
    const path = await realpath(given).catch(() => undefined);
    const stats = path === undefined ? undefined : await stat(path).catch(() => undefined);
    return path === undefined || stats === undefined ? [] : [{ path, of: stats.isDirectory() ? "directory" : "file" }];
  });
  return (await Promise.all(found)).flat();
}
