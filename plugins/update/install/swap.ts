/**
 * Replaces files and directories with new ones: either all or none. Synchronous, so that no other code runs in between.
 */
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";

/** A replacement; both paths are on one file system. */
export interface Exchange {
  readonly fresh: string;
  readonly place: string;
}

export interface SwapCalls {
  rename(from: string, to: string): void;
}

/**
 * @param aside existing directory that receives the former files
 * @throws Error of the file system, after restoring the former files; the error says so if some could not be restored
 */
export function swapAll(
  exchanges: readonly Exchange[],
  aside: string,
  { rename }: SwapCalls = { rename: renameSync },
): void {
  const undo: (() => void)[] = [];
  try {
    for (const [index, { fresh, place }] of exchanges.entries()) {
      const former = join(aside, String(index));
      if (existsSync(place)) {
        rename(place, former);
        undo.push(() => rename(former, place));
      }
      mkdirSync(dirname(place), { recursive: true });
      rename(fresh, place);
      undo.push(() => rename(place, fresh));
    }
  } catch (error) {
    const failed = undo.reverse().filter((back) => !worked(back));
    if (failed.length === 0) throw error;
    throw new Error(`${String(error)}; not everything could be restored; the former files are in ${aside}`, {
      cause: error,
    });
  }
}

function worked(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
