/** Runs one program: no shell, a process group of its own, an end in time, bounded output. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { messageOf } from "@svc/sdk";
import { BoundedText } from "./bounded-text.ts";

/** What runs, and for how long at most. */
export interface ProgramStart {
  /** Absolute path of the file that runs. */
  readonly file: string;
  /** With the name it is told it has. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds; absent: until it ends. */
  readonly timeoutMs?: number;
  /** Ends it, too. */
  readonly signal?: AbortSignal;
  /** Why it was ended, when `signal` did it. Default: it was stopped. */
  readonly stopReason?: string;
  /**
   * It stays in the process group of this process, so that Ctrl-C in a terminal ends it as well. What it starts is not ended
   * with it then. Default false: it gets a group of its own.
   */
  readonly isForeground?: boolean;
  /** `pipe`: it can be written to. Default: it reads nothing. */
  readonly stdin?: "ignore" | "pipe";
  /** What it left running when it ended by itself is ended, too. Default false: that goes on. */
  readonly endsWhole?: boolean;
  /** Gets its output as it comes. */
  onOutput(chunk: Buffer, stream: "stdout" | "stderr"): void;
}

/** How a program ended. */
export interface ProgramOutcome {
  /** `null`: it never started, or a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
  /** Why it was ended, when it did not end by itself; it may still have had an exit code of its own. */
  readonly endedFor?: string;
  /** Why it did not start, or the signal that ended it. */
  readonly error?: string;
}

/** A program that was started. */
export interface RunningProgram {
  /** `undefined`: it did not start. */
  readonly pid: number | undefined;
  readonly stdin: Writable | undefined;
  /** Never rejects: that it could not be started is an outcome. */
  readonly ended: Promise<ProgramOutcome>;
  /** SIGTERM to all of its group, and SIGKILL 2 s later. Safe to call twice. */
  end(reason: string): void;
}

/** A program whose whole output is wanted at its end. */
export type ProgramRun = Omit<ProgramStart, "onOutput" | "stdin" | "endsWhole">;

/** How it ended, with its output. */
export interface ProgramEnd {
  /** `null`: it never started, or a signal ended it. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** Some output was left out. */
  readonly truncated: boolean;
  readonly error?: string;
}

/** Milliseconds from SIGTERM to SIGKILL. */
export const KILL_AFTER_MS = 2_000;

/** Milliseconds that output of a program that has ended is waited for: what it left running may hold the pipes for ever. */
const DRAIN_MS = 500;

const TIME_IS_UP = "it took longer than it was allowed to";

/** Never throws: that it could not be started is a result. */
export async function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  const kept = { stdout: new BoundedText(), stderr: new BoundedText() };
  const { ended } = startProgram({ ...run, onOutput: (chunk, stream) => kept[stream].append(chunk) });
  const { exitCode, timedOut, error } = await ended;
  const [stdout, stderr] = [kept.stdout.end(), kept.stderr.end()];
  return {
    exitCode,
    timedOut,
    stdout: stdout.text,
    stderr: stderr.text,
    truncated: stdout.truncated || stderr.truncated,
    ...(error === undefined ? {} : { error }),
  };
}

/** Never throws, see `ended`. */
export function startProgram(start: ProgramStart): RunningProgram {
  const child = spawned(start);
  if ("failure" in child) return notStarted(child.failure);
  child.stdin?.on("error", () => undefined); // it has closed its input, or ended: whoever writes looks at `writable`
  let reason: string | undefined;
  let kill: NodeJS.Timeout | undefined;
  let isOver = false;
  const signalTo = (signal: NodeJS.Signals) =>
    start.isForeground === true ? void child.kill(signal) : signalGroup(child, signal);
  const end = (why: string) => {
    if (reason !== undefined || isOver) return;
    reason = why;
    signalTo("SIGTERM");
    kill = setTimeout(() => signalTo("SIGKILL"), KILL_AFTER_MS);
  };
  const ended = new Promise<ProgramOutcome>((resolve) => {
    const onAbort = () => end(start.stopReason ?? "it was stopped");
    const late = start.timeoutMs === undefined ? undefined : setTimeout(() => end(TIME_IS_UP), start.timeoutMs);
    start.signal?.addEventListener("abort", onAbort, { once: true });
    if (start.signal?.aborted) onAbort();
    const settle = (exitCode: number | null, signal: NodeJS.Signals | null, failure?: string) => {
      clearTimeout(late);
      clearTimeout(kill);
      start.signal?.removeEventListener("abort", onAbort);
      resolve(outcome(exitCode, signal, reason, failure));
    };
    child.stdout?.on("data", (chunk: Buffer) => start.onOutput(chunk, "stdout"));
    child.stderr?.on("data", (chunk: Buffer) => start.onOutput(chunk, "stderr"));
    child.once("error", ({ message }) => {
      if (child.pid === undefined) settle(null, null, `it did not start: ${message}`);
    });
    child.once("exit", (exitCode, signal) => {
      isOver = true;
      // What it started and left behind goes with it when it was told to end.
      if (reason !== undefined || start.endsWhole === true) signalTo("SIGKILL");
      void drained(child).then(() => settle(exitCode, signal));
    });
  });
  return { pid: child.pid, stdin: child.stdin ?? undefined, ended, end };
}

function notStarted(failure: string): RunningProgram {
  const ended = Promise.resolve(outcome(null, null, undefined, failure));
  return { pid: undefined, stdin: undefined, ended, end: () => undefined };
}

function outcome(
  exitCode: number | null,
  signal: NodeJS.Signals | null,
  reason: string | undefined,
  failure: string | undefined,
): ProgramOutcome {
  const error = failure ?? (signal ? `ended by ${signal}${reason ? `: ${reason}` : ""}` : undefined);
  return {
    exitCode,
    signal,
    timedOut: reason === TIME_IS_UP,
    ...(reason === undefined ? {} : { endedFor: reason }),
    ...(error === undefined ? {} : { error }),
  };
}

function spawned({
  file,
  argv,
  cwd,
  env,
  stdin,
  isForeground,
}: ProgramStart): ChildProcess | { readonly failure: string } {
  const [name = file, ...args] = argv;
  try {
    return spawn(file, args, {
      argv0: name,
      cwd,
      env: { ...env },
      detached: isForeground !== true && process.platform !== "win32", // a group of its own, so that what it starts ends with it
      stdio: [stdin ?? "ignore", "pipe", "pipe"],
      windowsHide: true,
    });
  } catch (error) {
    return { failure: `it did not start: ${messageOf(error)}` };
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // all of them have ended
  }
}

/** Resolves when both streams have ended, or were waited for long enough. */
async function drained(child: ChildProcess): Promise<void> {
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
  const ended = streams.map((stream) =>
    stream.readableEnded || stream.destroyed
      ? Promise.resolve()
      : new Promise<void>((resolve) => stream.once("close", () => resolve())),
  );
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, DRAIN_MS)));
  await Promise.race([Promise.all(ended), patience]);
  clearTimeout(timer);
  for (const stream of streams) stream.destroy();
}
