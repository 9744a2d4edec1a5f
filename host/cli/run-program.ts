/** Runs a program until it ends and collects its output. */
import { execFile } from "node:child_process";

export interface ProgramOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds after which it is killed. */
  readonly timeoutMs: number;
}

/** Exit code and output of a program. */
export interface ProgramEnd {
  /** `null`: ended by a signal. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Maximum bytes per stream; the program is killed above it. */
const MOST_OUTPUT = 4 * 1_024 * 1_024;

/** @throws Error when the program cannot be started */
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
