/** The steps from a directory down to a file whose name comes from outside, each looked at, none of them a link. */
import { constants, existsSync, type Stats } from "node:fs";
import { lstat, mkdir, open, realpath } from "node:fs/promises";
import { join } from "node:path";
import { invalidRequest } from "@svc/sdk";

/** Makes new names in a directory durable. Where directories cannot be synced (some network disks), nothing is done. */
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

/** The names a relative path consists of. @throws GatewayError `INVALID_REQUEST` when it is not a plain path downwards */
export function stepsOf(name: string): readonly string[] {
  const steps = name.split("/");
  const isPlain = steps.every((step) => step !== "" && step !== "." && step !== ".." && !/[\0\\]/.test(step));
  if (!isPlain) invalidRequest(`"${printable(name)}" is not a path below the workspace`);
  return steps;
}

/** A name as it can stand in a sentence. */
export const printable = (name: string) => name.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 100);

/** Whether an error of the file system has one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** What is there, links not followed; `undefined`: nothing. */
export async function look(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

/** @throws GatewayError `INVALID_REQUEST` for a link, a FIFO, a directory, a file with two names */
export function requirePlain(stats: Stats, name: string): void {
  if (stats.isSymbolicLink()) invalidRequest(`${printable(name)} is a symbolic link; put a plain file in its place`);
  if (stats.isDirectory()) invalidRequest(`${printable(name)} is a directory; name a plain file`);
  if (!stats.isFile()) invalidRequest(`${printable(name)} is not a plain file; put one in its place`);
  if (stats.nlink > 1) invalidRequest(`${printable(name)} has further names (hard links); put a copy in its place`);
}

/** `root` with links followed: an operator may put a link there. `undefined`: it does not exist. */
export async function realRoot(root: string): Promise<string | undefined> {
  try {
    return await realpath(root);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

/** A directory below a root that was walked to. */
export interface Walked {
  /** Absolute, without links when it was walked. */
  readonly real: string;
  /**
   * What paths to its files begin with. Where the system can do it, that means the very directory that was opened step by
   * step, whatever is put in the place of its name meanwhile; elsewhere it is `real`.
   */
  readonly base: string;
  /** @throws GatewayError `INVALID_REQUEST` where its name leads elsewhere by now and `base` goes by the name */
  check(): Promise<void>;
}

/** Linux: a path below a descriptor of a directory means that directory. Looked up late: a process may not be allowed to look there. */
let canHold: boolean | undefined;

function looksUpDescriptors(): boolean {
  try {
    return process.platform === "linux" && existsSync("/proc/self/fd");
  } catch {
    return false; // the permission model refuses to say
  }
}

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Walks down and does `work` in the directory there.
 * @param real of the root, links followed @param make makes what is missing (0700), durably
 * @returns `undefined`, and no work is done, when there is no such directory
 * @throws GatewayError `INVALID_REQUEST` where a step is a link or no directory
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
    if (hasCode(error, "EEXIST")) return; // somebody else made it; what it is is looked at next
    throw error;
  }
  await syncDirectory(above.base);
}

interface Entered extends Walked {
  close(): Promise<void>;
}

/** One step. @param path what is opened @param real what it is called */
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
  return invalidRequest(`${printable(name)} leads out of the workspace, or through a file`);
}

/** The opened file is the one its name in the directory means. @throws GatewayError `INVALID_REQUEST` */
export async function requireSame(directory: Walked, last: string, { dev, ino }: Stats, name: string): Promise<void> {
  await directory.check();
  const now = await look(join(directory.base, last));
  await directory.check();
  if (now?.dev !== dev || now.ino !== ino) {
    invalidRequest(`${printable(name)} changed while it was opened; try again`);
  }
}
