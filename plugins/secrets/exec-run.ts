/** Runs a program that looks up secrets: without a shell, with limits on time and output, and killed together with its children. */
import { spawn } from "node:child_process";
import { dirname } from "node:path";
import type { Clock } from "@svc/sdk";
import { codeOf } from "./printable.ts";

export interface ProgramRun {
  /** Absolute. */
  readonly command: string;
  readonly args: readonly string[];
  /** Its complete environment. */
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
 * Resolves with the standard output. Standard error is discarded: it may hold secrets.
 * @throws Error with the cause, never quoting the output
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
    /** Does not wait for the program to exit: a child that left the process group may hold the pipe open. */
    const end = (why: string) => {
      killGroup(child.pid);
      child.stdout.destroy();
      settle(() => reject(new Error(why)));
    };
    const heard = () => {
      cancelSilence();
      if (isOver) return;
      cancelSilence = clock.setTimeout(
        () => end(`${command} printed nothing for ${noOutputTimeoutMs} ms and was killed; raise noOutputTimeoutMs`),
        noOutputTimeoutMs,
      );
    };
    const onAbort = () => end("the lookup was stopped");
    const cancelTimeout = clock.setTimeout(
      () => end(`${command} took longer than ${timeoutMs} ms and was killed; raise timeoutMs`),
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
      const how = code === null ? `was ended by ${killedBy}` : `exited with code ${code}`;
      return settle(() => reject(new Error(`${command} ${how}; run it by hand to see why`)));
    });
    child.stdin.on("error", () => {}); // a program may ignore its input; its response decides
    child.stdin.end(run.input);
  });
}

/** Starts the program in its own process group, so that its children can be killed too, and in its own directory. */
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
    // oxlint-disable-next-line preserve-caught-error -- the original error quotes the arguments
    throw new Error(`${command} cannot be started (${codeOf(error)})`);
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The whole group has exited.
  }
}
