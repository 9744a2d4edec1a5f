/** Walks from a directory down to a file with an untrusted name; checks each step and follows no links. */
import { constants, existsSync, type Stats } from "node:fs";
import { lstat, mkdir, open, realpath } from "node:fs/promises";
import { join } from "node:path";
import { invalidRequest } from "@svc/sdk";

/** Makes new entries of a directory durable. Does nothing if directories cannot be synced (some network disks). */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY);
  try {
    await directory.sync();
  } catch (error) {
    if (!hasCode(error, "EINVAL", "ENOTSUP", "EPERM")) throw error;
  } finally {
    await directory.close();
  }
}

/** The segments of a relative path. @throws GatewayError `INVALID_REQUEST` if it is not a plain downward path */
export function stepsOf(name: string): readonly string[] {
  const steps = name.split("/");
  const isPlain = steps.every((step) => step !== "" && step !== "." && step !== ".." && !/[\0\\]/.test(step));
  if (!isPlain) invalidRequest(`"${printable(name)}" is not a path below the workspace`);
  return steps;
}

/** A name in printable form for a message. */
export const printable = (name: string) => name.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 100);

/** Whether a file system error has one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** The entry at a path, links not followed; `undefined`: none. */
export async function look(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

/**
 * @param hardLinks files with several hard links are accepted
 * @throws GatewayError `INVALID_REQUEST` for a link, a FIFO, a directory, or a file with several hard links
 */
export function requirePlain(stats: Stats, name: string, hardLinks = false): void {
  if (stats.isSymbolicLink()) invalidRequest(`${printable(name)} is a symbolic link; replace it with a plain file`);
  if (stats.isDirectory()) invalidRequest(`${printable(name)} is a directory; name a plain file`);
  if (!stats.isFile()) invalidRequest(`${printable(name)} is not a plain file; replace it with one`);
  if (stats.nlink > 1 && !hardLinks)
    invalidRequest(`${printable(name)} has several hard links; replace it with a copy`);
}

/** `root` with links resolved, because an operator may use a link there. `undefined`: it does not exist. */
export async function realRoot(root: string): Promise<string | undefined> {
  try {
    return await realpath(root);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

/** An open directory below a root. */
export interface Walked {
  /** Absolute path, free of links when it was walked. */
  readonly real: string;
  /**
   * Prefix for paths to its files. If the system supports it, the prefix refers to the opened directory itself, even if
   * its name is replaced meanwhile; otherwise it is `real`.
   */
  readonly base: string;
  /** @throws GatewayError `INVALID_REQUEST` if `base` is a name that now leads elsewhere */
  check(): Promise<void>;
}

/**
 * On Linux, a path below a directory's descriptor refers to that directory. Determined late, because a process may lack
 * permission to check.
 */
let canHold: boolean | undefined;

function looksUpDescriptors(): boolean {
  try {
    return process.platform === "linux" && existsSync("/proc/self/fd");
  } catch {
    return false; // the permission model denies the check
  }
}

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Walks down and runs `work` in the final directory.
 * @param real root with links resolved
 * @param make creates missing directories (0700), durably
 * @returns `undefined` without running `work` if the directory does not exist
 * @throws GatewayError `INVALID_REQUEST` if a step is a link or not a directory
 */
export async function walk<T>(
  real: string,
  steps: readonly string[],
  { name, make = false }: { readonly name: string; readonly make?: boolean },
  work: (directory: Walked) => Promise<T>,
): Promise<T | undefined> {
  let at = await enter({ real, path: real, name });
  try {
    for (const step of steps) {
      const path = join(at?.base ?? real, step);
      let next = at && (await enter({ real: join(at.real, step), path, name }));
      if (at && !next && make) {
        await makeDirectory(path, at);
        next = await enter({ real: join(at.real, step), path, name });
      }
      await at?.close();
      at = next;
    }
    return at && (await work(at));
  } finally {
    await at?.close();
  }
}

async function makeDirectory(path: string, above: Walked): Promise<void> {
  await above.check();
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (hasCode(error, "EEXIST")) return; // created by another process; the next step checks what it is
    throw error;
  }
  await syncDirectory(above.base);
}

interface Entered extends Walked {
  close(): Promise<void>;
}

/** Enters one directory. @param path path to open @param real its real name */
async function enter(step: { readonly real: string; readonly path: string; readonly name: string }) {
  canHold ??= looksUpDescriptors();
  return canHold ? held(step) : named(step);
}

async function held({ real, path, name }: Parameters<typeof enter>[0]): Promise<Entered | undefined> {
  try {
    const handle = await open(path, DIRECTORY);
    const close = () => handle.close();
    return { real, base: `/proc/self/fd/${handle.fd}`, check: () => Promise.resolve(), close };
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    if (hasCode(error, "ELOOP", "ENOTDIR")) return elsewhere(name);
    throw error;
  }
}

async function named({ real, name }: Parameters<typeof enter>[0]): Promise<Entered | undefined> {
  const stats = await look(real);
  if (!stats) return undefined;
  if (!stats.isDirectory()) return elsewhere(name);
  return {
    real,
    base: real,
    async check() {
      if ((await realRoot(real)) !== real) invalidRequest(`${printable(name)} changed meanwhile; try again`);
    },
    close: () => Promise.resolve(),
  };
}

function elsewhere(name: string): never {
  return invalidRequest(`${printable(name)} leads out of the workspace or through a file`);
}

/** Checks that the opened file is the one its name refers to. @throws GatewayError `INVALID_REQUEST` */
export async function requireSame(directory: Walked, last: string, { dev, ino }: Stats, name: string): Promise<void> {
  await directory.check();
  const now = await look(join(directory.base, last));
  await directory.check();
  if (now?.dev !== dev || now.ino !== ino) {
    invalidRequest(`${printable(name)} changed while it was opened; try again`);
  }
}
