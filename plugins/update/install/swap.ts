/** Puts new files and directories in the place of old ones: all of them, or none. Synchronous, so that nothing comes in between. */
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";

/** What is put where; both on one file system. */
export interface Exchange {
  readonly fresh: string;
  readonly place: string;
}

export interface SwapCalls {
  rename(from: string, to: string): void;
}

/**
 * @param aside directory that takes what was there; it must be there
 * @throws Error of the file system: all is as it was then, except where that could not be done either, which the error says
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
    throw new Error(`${String(error)}; not everything could be put back, what was there lies in ${aside}`, {
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
