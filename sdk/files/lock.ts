/**
 * Lets one process at a time write a file: the gateway and the command line write the same files.
 *
 * Choice: custom code. The library that locks with a directory also handles signals for the whole process; a gateway
 * with a full disk would then be killed (SIGXFSZ) instead of reporting an error.
 */
import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { refusal } from "../error-codes.ts";

/** Time limits of a lock, in milliseconds. */
export interface LockLimits {
  /**
   * Age after which a lock counts as abandoned: its process may be suspended, or its process id reused. A write takes a
   * few milliseconds.
   */
  readonly stale: number;
  /** How long a writer waits for the lock. */
  readonly patience: number;
}

const LIMITS: LockLimits = { stale: 5_000, patience: 15_000 };

/** Locks held by this process. A lock with this process id that is missing here belongs to an earlier process. */
const held = new Set<string>();

/** A lock that is held. */
export interface WriteLock {
  /**
   * False: another process considered the lock abandoned, so this process was suspended for long. Nothing may be
   * written any more.
   */
  isMine(): boolean;
}

/**
 * Runs `work` while `<path>.lock` is held; the directory must exist. A lock left by a killed process is taken over.
 * @throws Error of `work`; a file system error if the lock cannot be created; GatewayError `UNAVAILABLE` if other
 * processes hold it for too long
 */
export async function withWriteLock<T>(
  path: string,
  work: (lock: WriteLock) => Promise<T>,
  limits: LockLimits = LIMITS,
): Promise<T> {
  const lock = `${path}.lock`;
  const mine = JSON.stringify({ pid: process.pid, host: hostname(), id: randomBytes(9).toString("base64url") });
  held.add(mine);
  try {
    await acquire(lock, mine, limits);
    return await work({ isMine: () => holderOf(lock) === mine });
  } finally {
    removeHeldBy(mine, lock);
    held.delete(mine);
  }
}

async function acquire(lock: string, mine: string, { stale, patience }: LockLimits): Promise<void> {
  const giveUp = performance.now() + patience;
  let seen: { readonly holder: string; readonly since: number } | undefined;
  while (!create(lock, mine)) {
    const holder = holderOf(lock);
    if (holder !== seen?.holder) seen = { holder, since: performance.now() };
    if (isGone(holder) || performance.now() - seen.since > stale) {
      removeHeldBy(holder, lock);
    } else {
      if (performance.now() > giveUp)
        throw refusal(
          "FILE_LOCKED",
          `other processes keep writing it (${lock} is held by ${holder || "an unknown process"}); try again, or end that process`,
          {},
          { retryAfterMs: 1_000 },
        );
      await pause(5 + Math.random() * 20);
    }
  }
}

/** @returns false if the lock is already held */
function create(lock: string, mine: string): boolean {
  try {
    writeFileSync(lock, mine, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    removeHeldBy("", lock); // created, but writing the holder failed
    throw error;
  }
}

/** @returns the content of the lock; empty if it does not exist or names no holder */
function holderOf(lock: string): string {
  try {
    return readFileSync(lock, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return "";
  }
}

/**
 * Removes the lock only if `holder` still holds it: another process may have taken it since it was found abandoned. All
 * calls are synchronous, so the gap between check and removal is microseconds; a lock created in that gap is put back.
 */
function removeHeldBy(holder: string, lock: string): void {
  const aside = `${lock}.${process.pid}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    if (holderOf(lock) !== holder) return;
    renameSync(lock, aside);
    if (holderOf(aside) !== holder) linkSync(aside, lock);
    unlinkSync(aside);
  } catch {
    // Already gone, or it cannot be removed; in that case the waiting process reports it in the end.
  }
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
    return {}; // still being written, or not a lock of the gateway
  }
}

/** Whether a process with this id runs on this machine, under any user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
