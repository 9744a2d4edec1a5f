/**
 * One writer of a file at a time, in whatever process: the gateway and the command line write the same files.
 *
 * Choice: own code. The library that locks with a directory also handles signals for the whole process, and a gateway
 * whose disk is full would then be killed (SIGXFSZ) instead of saying so.
 */
import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { refusal } from "../error-codes.ts";

/** Milliseconds. */
export interface LockLimits {
  /** How long a lock may stay as it is, whoever's it is: its process may stand still, or its id be another's by now. A write takes a few. */
  readonly stale: number;
  /** Until a writer gives up. */
  readonly patience: number;
}

const LIMITS: LockLimits = { stale: 5_000, patience: 15_000 };

/** Locks of this process that are held. One that bears its process id and is not here is of a process before it. */
const held = new Set<string>();

/** Held. */
export interface WriteLock {
  /** False: others took the lock for abandoned, so this process stood still for long. Nothing may be written any more. */
  isMine(): boolean;
}

/**
 * Runs `work` while `<path>.lock` is held; the directory must be there. What a killed process left is taken over.
 * @throws Error of `work`; of the file system, when the lock cannot be made; GatewayError `UNAVAILABLE` when others hold it all the time
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
          `others keep writing it (${lock} is held by ${holder || "nobody known"}); try again, or end that process`,
          {},
          { retryAfterMs: 1_000 },
        );
      await pause(5 + Math.random() * 20);
    }
  }
}

/** @returns false when somebody holds it */
function create(lock: string, mine: string): boolean {
  try {
    writeFileSync(lock, mine, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    removeHeldBy("", lock); // made, and no room for the name
    throw error;
  }
}

/** @returns empty when nobody holds it, or nobody can tell who */
function holderOf(lock: string): string {
  try {
    return readFileSync(lock, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return "";
  }
}

/**
 * Removes the lock if `holder` has it still, and no other's: by the time one is known to be abandoned, somebody else may
 * hold it. Not a promise in between, so that it takes microseconds; what comes between them nevertheless is put back.
 */
function removeHeldBy(holder: string, lock: string): void {
  const aside = `${lock}.${process.pid}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    if (holderOf(lock) !== holder) return;
    renameSync(lock, aside);
    if (holderOf(aside) !== holder) linkSync(aside, lock);
    unlinkSync(aside);
  } catch {
    // Gone already, or it cannot be removed: then whoever waits for it says so in the end.
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
