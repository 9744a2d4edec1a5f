/** Side effects of an install, replaceable in tests to make any of them fail or end the process. */
import { link, mkdir, open, rename, rm, unlink } from "node:fs/promises";
import { runProgram } from "@svc/kit/exec";
import type { FileCalls } from "@svc/sdk/files";
import { type TrialOrder, trial } from "./trial.ts";

/** File system calls that must happen completely or not at all. */
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
