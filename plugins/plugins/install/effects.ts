/** Side effects of an install. Tests replace them, so that any of them fails or ends the process. */
import { link, mkdir, open, rename, rm, unlink } from "node:fs/promises";
import { runProgram } from "@svc/kit/exec";
import type { FileCalls } from "@svc/sdk/files";
import { type TrialOrder, trial } from "./trial.ts";

/** File system calls of an install. */
export interface InstallFiles extends FileCalls {
  readonly mkdir: typeof mkdir;
  readonly rm: typeof rm;
}

/** All side effects. */
export interface InstallEffects {
  readonly files: InstallFiles;
  readonly run: typeof runProgram;
  readonly trial: (order: TrialOrder, cwd: string, path: string | undefined) => Promise<void>;
  /** epoch ms */
  readonly now: () => number;
}

export const realEffects: InstallEffects = {
  files: { link, mkdir, open, rename, rm, unlink },
  run: runProgram,
  trial,
  now: () => Date.now(),
};
