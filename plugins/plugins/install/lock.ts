/** Allows one change of the installed plugins at a time, across processes. */
import { renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { detailsCode } from "@svc/sdk/errors";
import { withWriteLock, type WriteLock } from "@svc/sdk/files";
import { join } from "node:path";
import { InstallFailure } from "./failure.ts";

/** Milliseconds. */
const TIMES = {
  /** Interval at which an install touches its lock. */
  beat: 10_000,
  /**
   * Age after which an untouched lock counts as left behind, whatever machine or container created it. Milliseconds.
   */
  silent: 60_000,
  /** Time to wait for another install. */
  patience: 5_000,
  /** Milliseconds, longer than any install takes: the lock of a running install is never taken away. */
  longest: 24 * 3_600_000,
} as const;

/** @throws InstallFailure at `lock` while another process installs */
export async function withInstallLock<T>(extensions: string, work: (lock: WriteLock) => Promise<T>): Promise<T> {
  const path = join(extensions, "/"); // its lock is `.lock` in the directory
  const file = `${path}.lock`;
  takeFromTheDead(file);
  try {
    return await withWriteLock(
      path,
      async (lock) => {
        const beat = setInterval(() => lock.isMine() && touch(file), TIMES.beat).unref();
        try {
          return await work(lock);
        } finally {
          clearInterval(beat);
        }
      },
      { stale: TIMES.longest, patience: TIMES.patience },
    );
  } catch (error) {
    if (detailsCode(error) !== "FILE_LOCKED") throw error;
    const why = `another install, update or removal is under way (${file})`;
    throw new InstallFailure("lock", why, "wait until it is done; if none is running, the lock expires after a minute");
  }
}

/** Removes a lock that was not touched for long. A newer lock created meanwhile is put back. */
function takeFromTheDead(file: string): void {
  const aside = `${file}.${process.pid}.tmp`;
  try {
    if (Date.now() - statSync(file).mtimeMs < TIMES.silent) return;
    renameSync(file, aside);
    if (Date.now() - statSync(aside).mtimeMs < TIMES.silent) renameSync(aside, file);
    else rmSync(aside);
  } catch {
    // Already gone, or cannot be removed; then the caller waits for it.
  }
}

function touch(file: string): void {
  try {
    utimesSync(file, new Date(), new Date());
  } catch {
    // Removed by another process: `isMine` reports it before the switch.
  }
}
