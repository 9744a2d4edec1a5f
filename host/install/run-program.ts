/** Runs a program to its end and keeps what it says. */
import { spawn } from "node:child_process";

/** How a program is run. */
export interface ProgramOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds after which it is killed. */
  readonly timeoutMs: number;
}

/** How it ended, and what it said. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

export type RunProgram = (command: string, args: readonly string[], options: ProgramOptions) => Promise<ProgramEnd>;

/** Bytes of each stream that are kept: a program that never stops talking costs no more. */
const KEPT = 4 * 1_024 * 1_024;

/** @throws Error it cannot be started */
export const runProgram: RunProgram = (command, args, { cwd, env, timeoutMs }) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        if (said[name].length < KEPT) said[name] += text;
      });
    }
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill("SIGKILL");
    }, timeoutMs);
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, ...said, timedOut });
    });
  });
