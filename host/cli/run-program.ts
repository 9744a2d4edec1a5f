/** Runs a program to its end and keeps what it says. */
import { execFile } from "node:child_process";

/** How a program is run. */
export interface ProgramOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds after which it is killed. */
  readonly timeoutMs: number;
}

/** How it ended, and what it said. */
export interface ProgramEnd {
  /** `null`: a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Bytes of each stream after which it is killed. */
const MOST_OUTPUT = 4 * 1_024 * 1_024;

/** @throws Error it cannot be started */
export function runProgram(file: string, args: readonly string[], options: ProgramOptions): Promise<ProgramEnd> {
  const { cwd, env, timeoutMs: timeout } = options;
  const limits = { timeout, killSignal: "SIGKILL", maxBuffer: MOST_OUTPUT, windowsHide: true } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(file, args, { cwd, env, ...limits }, (error, stdout, stderr) => {
      if (child.pid === undefined) reject(error ?? new Error(`${file} did not start`));
      else resolve({ code: child.exitCode, stdout, stderr });
    });
    child.stdin?.end();
  });
}
