/** Private directories for files that programs read; each is removed when its work ends. */
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { diskRefusal } from "@svc/kit/files";
import type { Clock } from "@svc/sdk";

/** Choice: milliseconds after which a directory counts as left behind by a crash. No work takes as long. */
export const LEFT_AFTER_MS = 3_600_000;

export interface Scratch {
  /** Runs `work` with a new empty directory. @throws errors of `work`; GatewayError if the disk fails */
  use<T>(work: (directory: string) => Promise<T>): Promise<T>;
  /** Removes what a crash left behind. @returns the number of directories */
  clean(dryRun: boolean): Promise<number>;
}

/** @param root created on first use, mode 0700 */
export function createScratch(root: () => string, clock: Pick<Clock, "now">): Scratch {
  let isSwept = false;
  const scratch: Scratch = {
    async use(work) {
      const directory = await created(root()).catch((error: unknown) => {
        throw diskRefusal(error, "the directory for media files", { permissions: "UNAVAILABLE" }) ?? error;
      });
      if (!isSwept) {
        isSwept = true;
        await scratch.clean(false).catch(() => undefined); // the next start tries again
      }
      try {
        return await work(directory);
      } finally {
        await rm(directory, { recursive: true, force: true }).catch(() => undefined); // `clean` tries again
      }
    },
    async clean(dryRun) {
      let count = 0;
      for (const name of await readdir(root()).catch(() => [])) {
        const path = join(root(), name);
        const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: clock.now() }));
        if (clock.now() - mtimeMs < LEFT_AFTER_MS) continue;
        count += 1;
        if (!dryRun) await rm(path, { recursive: true, force: true });
      }
      return count;
    },
  };
  return scratch;
}

async function created(root: string): Promise<string> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  return mkdtemp(join(root, "file-")); // mode 0700
}
