/** Runs a program that looks secrets up: without a shell, bounded in time and output, ended with all it started. */
import { spawn } from "node:child_process";
import { dirname } from "node:path";
import type { Clock } from "@svc/sdk";
import { codeOf } from "./printable.ts";

export interface ProgramRun {
  /** Absolute. */
  readonly command: string;
  readonly args: readonly string[];
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Its standard input. */
  readonly input: string;
  readonly timeoutMs: number;
  readonly noOutputTimeoutMs: number;
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, "setTimeout">;
}

/**
 * What it prints on standard output. Standard error goes nowhere: it may hold secrets.
 * @throws Error saying how it failed, never with anything it printed
 */
export function runProgram(run: ProgramRun): Promise<Buffer> {
  const { command, timeoutMs, noOutputTimeoutMs, maxOutputBytes, signal, clock } = run;
  if (signal.aborted) return Promise.reject(new Error("the lookup was stopped"));
  return new Promise((resolve, reject) => {
    const child = start(run);
    const chunks: Buffer[] = [];
    let size = 0;
    let cancelSilence = () => {};
    let isOver = false;
    const settle = (outcome: () => void) => {
      isOver = true;
      cancelTimeout();
      cancelSilence();
      signal.removeEventListener("abort", onAbort);
      outcome();
    };
    /** Not waiting for its end: a child of it that left the group may hold the pipe open. */
    const end = (why: string) => {
      killGroup(child.pid);
      child.stdout.destroy();
      settle(() => reject(new Error(why)));
    };
    const heard = () => {
      cancelSilence();
      if (isOver) return;
      cancelSilence = clock.setTimeout(
        () => end(`${command} printed nothing for ${noOutputTimeoutMs} ms and was ended; raise noOutputTimeoutMs`),
        noOutputTimeoutMs,
      );
    };
    const onAbort = () => end("the lookup was stopped");
    const cancelTimeout = clock.setTimeout(
      () => end(`${command} took longer than ${timeoutMs} ms and was ended; raise timeoutMs`),
      timeoutMs,
    );
    heard();
    signal.addEventListener("abort", onAbort, { once: true });
    child.stdout.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxOutputBytes) end(`${command} printed more than ${maxOutputBytes} bytes; raise maxOutputBytes`);
      else heard();
    });
    child.on("error", (error) => settle(() => reject(new Error(`${command} cannot be started (${codeOf(error)})`))));
    child.on("close", (code, killedBy) => {
      if (code === 0) return settle(() => resolve(Buffer.concat(chunks)));
      const how = code === null ? `was ended by ${killedBy}` : `ended with code ${code}`;
      return settle(() => reject(new Error(`${command} ${how}; run it by hand to see why`)));
    });
    child.stdin.on("error", () => {}); // it need not read what it is asked; its answer says whether it did
    child.stdin.end(run.input);
  });
}

/** In a group of its own, so that all of it can be ended. Its directory is that of the program, not where the gateway was started. */
function start({ command, args, env }: ProgramRun) {
  try {
    return spawn(command, args, {
      cwd: dirname(command),
      env,
      shell: false,
      detached: true,
      windowsHide: true,
      stdio: ["pipe", "pipe", "ignore"],
    });
  } catch (error) {
    // oxlint-disable-next-line preserve-caught-error -- it quotes the arguments
    throw new Error(`${command} cannot be started (${codeOf(error)})`);
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All of the group has ended.
  }
}
