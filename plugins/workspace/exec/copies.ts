/** Private directories for copies of programs and scripts; each exists while its program runs. */
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { join } from "node:path";

export interface Copies {
  /** A new empty directory (0700), without links. */
  make(): Promise<{ readonly directory: string; remove(): Promise<void> }>;
}

/** @param stateDir state directory of the gateway, to which no tool of an agent can write */
export function privateCopies(stateDir: () => string): Copies {
  let leftovers: Promise<unknown> | undefined;
  return {
    async make() {
      const home = join(stateDir(), "exec-copies");
      // Copies left by a gateway that was killed.
      leftovers ??= rm(home, { recursive: true, force: true }).catch(() => undefined);
      await leftovers;
      await mkdir(home, { recursive: true, mode: 0o700 });
      const directory = await mkdtemp(join(await realpath(home), "run-"));
      return { directory, remove: () => rm(directory, { recursive: true, force: true }).catch(() => undefined) };
    },
  };
}
