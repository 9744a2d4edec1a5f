/** What an install does to the world, so that a test can make any of it fail or end the process there. */
import { link, mkdir, open, rename, rm, unlink } from "node:fs/promises";
import { runProgram } from "@svc/kit/exec";
import type { FileCalls } from "@svc/sdk/files";
import { type TrialOrder, trial } from "./trial.ts";

/** What is used of the file system where it matters that it happens wholly or not at all. */
export interface InstallFiles extends FileCalls {
  readonly mkdir: typeof mkdir;
  readonly rm: typeof rm;
}

/** All of it. */
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
