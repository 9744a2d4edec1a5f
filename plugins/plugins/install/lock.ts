/** One change of what is installed at a time, in whatever process. */
import { renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { detailsCode } from "@svc/sdk/errors";
import { withWriteLock, type WriteLock } from "@svc/sdk/files";
import { join } from "node:path";
import { InstallFailure } from "./failure.ts";

/** Milliseconds. */
const TIMES = {
  /** An install shows that it goes on. */
  beat: 10_000,
  /** Without such a sign a lock counts as left behind, on whatever machine or in whatever container it was made. */
  silent: 60_000,
  /** How long another install is waited for. */
  patience: 5_000,
  /** Longer than any install: a living owner keeps its lock. */
  longest: 24 * 3_600_000,
} as const;

/** @throws InstallFailure at `lock` while another process installs */
export async function withInstallLock<T>(extensions: string, work: (lock: WriteLock) => Promise<T>): Promise<T> {
  const path = join(extensions, "/"); // of which the lock is `.lock` in the directory
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
    throw new InstallFailure(
      "lock",
      why,
      "wait until it is done; when none runs, the lock is free a minute after its last sign",
    );
  }
}

/** Removes a lock whose owner has given no sign for long. The owner of a newer one that comes in between keeps it. */
function takeFromTheDead(file: string): void {
  const aside = `${file}.${process.pid}.tmp`;
  try {
    if (Date.now() - statSync(file).mtimeMs < TIMES.silent) return;
    renameSync(file, aside);
    if (Date.now() - statSync(aside).mtimeMs < TIMES.silent) renameSync(aside, file);
    else rmSync(aside);
  } catch {
    // Gone, or not ours to remove: then it is waited for.
  }
}

function touch(file: string): void {
  try {
    utimesSync(file, new Date(), new Date());
  } catch {
    // Taken away: `isMine` says so before anything is switched.
  }
}
