/**
 * One writer of a file at a time, in whatever process: the gateway and the command line write the same configuration.
 *
 * Choice: own code. The library that locks with a directory also handles signals for the whole process, and a gateway
 * whose disk is full would then be killed (SIGXFSZ) instead of saying so.
 */
import { randomBytes } from "node:crypto";
import { open, readFile, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";

/** Milliseconds. */
export interface LockLimits {
  /** How long a lock whose process cannot be asked (another machine, a container) may stay as it is. A write takes a few. */
  readonly stale: number;
  /** The wait after a lock was taken over: for others that did so at the same moment, and for its holder to notice. */
  readonly settle: number;
  /** Until a writer gives up. */
  readonly patience: number;
}

const LIMITS: LockLimits = { stale: 5_000, settle: 100, patience: 15_000 };

/** Locks of this process that are held. One that bears its process id and is not here is of a process before it. */
const held = new Set<string>();

export interface WriteLock {
  /** False: others took the lock for abandoned, so this process stood still for long. Nothing may be written any more. */
  isMine(): Promise<boolean>;
}

/**
 * Runs `work` while `<path>.lock` is held; the directory must be there. What a killed process left is taken over.
 * @throws Error of `work`; of the file system, when the lock cannot be made; when others hold it all the time
 */
export async function withWriteLock<T>(
  path: string,
  work: (lock: WriteLock) => Promise<T>,
  limits: LockLimits = LIMITS,
): Promise<T> {
  const lock = `${path}.lock`;
  const mine = JSON.stringify({ pid: process.pid, host: hostname(), id: randomBytes(9).toString("base64url") });
  const isMine = async () => (await holderOf(lock)) === mine;
  held.add(mine);
  try {
    await acquire(lock, mine, limits);
    return await work({ isMine });
  } finally {
    if (await isMine().catch(() => false)) await unlink(lock).catch(() => undefined); // one that stays is taken over
    held.delete(mine);
  }
}

async function acquire(lock: string, mine: string, { stale, settle, patience }: LockLimits): Promise<void> {
  const giveUp = performance.now() + patience;
  let seen: { readonly holder: string; readonly since: number } | undefined;
  let isTakenOver = false;
  for (;;) {
    if (await create(lock, mine)) {
      if (!isTakenOver) return;
      await pause(settle);
      if ((await holderOf(lock)) === mine) return;
      isTakenOver = false; // by somebody else as well, who came later
    }
    const holder = await holderOf(lock);
    if (holder !== seen?.holder) seen = { holder, since: performance.now() };
    if (isGone(holder) || performance.now() - seen.since > stale) {
      await unlink(lock).catch(ignoreMissing);
      isTakenOver = true;
    } else {
      if (performance.now() > giveUp) throw new Error(`others keep writing it (${lock} is held by ${holder})`);
      await pause(5 + Math.random() * 20);
    }
  }
}

/** @returns false when somebody holds it */
async function create(lock: string, mine: string): Promise<boolean> {
  try {
    const handle = await open(lock, "wx", 0o600);
    try {
      await handle.writeFile(mine);
    } catch (error) {
      await unlink(lock).catch(() => undefined); // nobody could tell whose it is
      throw error;
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** @returns empty when nobody holds it, or the holder has not said yet who it is */
async function holderOf(lock: string): Promise<string> {
  return (await readFile(lock, "utf8").catch(ignoreMissing)) ?? "";
}

/** Whether the process that holds a lock is known to have ended. */
function isGone(holder: string): boolean {
  const { pid, host } = parse(holder);
  if (typeof pid !== "number" || host !== hostname()) return false;
  return pid === process.pid ? !held.has(holder) : !isAlive(pid);
}

function parse(holder: string): { readonly pid?: unknown; readonly host?: unknown } {
  try {
    return Object(JSON.parse(holder)) as object;
  } catch {
    return {}; // being written, or not of ours
  }
}

/** Whether a process of this machine runs, whoever's it is. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}
