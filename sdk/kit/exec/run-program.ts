/** Runs one program without a shell, in its own process group, with a time limit and bounded output. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { messageOf } from "@svc/sdk";
import { BoundedText } from "./bounded-text.ts";

/** Program to start, and its limits. */
export interface ProgramStart {
  /** Absolute path of the file that runs. */
  readonly file: string;
  /** Includes `argv[0]`, the name under which the program is called. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds; absent: no limit. */
  readonly timeoutMs?: number;
  /** Ends the program, too. */
  readonly signal?: AbortSignal;
  /** Reason reported if `signal` ends the program. Default: it was stopped. */
  readonly stopReason?: string;
  /**
   * The program stays in the process group of this process, so that Ctrl-C in a terminal ends it, too; its child
   * processes are then not ended with it. Default false: it gets its own group.
   */
  readonly isForeground?: boolean;
  /** `pipe`: the caller can write to it. Default: no input. */
  readonly stdin?: "ignore" | "pipe";
  /** When the program ends by itself, processes that it left running are ended, too. Default false: they go on. */
  readonly endsWhole?: boolean;
  /** Receives its output as it arrives. */
  onOutput(chunk: Buffer, stream: "stdout" | "stderr"): void;
}

/** How a program ended. */
export interface ProgramOutcome {
  /** `null`: it never started, or a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
  /** Why it was ended, if it did not end by itself; it may still have an exit code. */
  readonly endedFor?: string;
  /** Why it did not start, or the signal that ended it. */
  readonly error?: string;
}

/** A started program. */
export interface RunningProgram {
  /** `undefined`: it did not start. */
  readonly pid: number | undefined;
  readonly stdin: Writable | undefined;
  /** Never rejects: a failed start is an outcome. */
  readonly ended: Promise<ProgramOutcome>;
  /** Sends SIGTERM to its whole group, and SIGKILL 2 s later. Safe to call twice. */
  end(reason: string): void;
}

/** A program whose full output is returned at its end. */
export type ProgramRun = Omit<ProgramStart, "onOutput" | "stdin" | "endsWhole">;

/** How the program ended, with its output. */
export interface ProgramEnd {
  /** `null`: it never started, or a signal ended it. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** Some output was omitted. */
  readonly truncated: boolean;
  readonly error?: string;
}

/** Milliseconds between SIGTERM and SIGKILL. */
export const KILL_AFTER_MS = 2_000;

/**
 * Milliseconds to wait for remaining output after the program ended: processes it left running may hold the pipes open
 * indefinitely.
 */
const DRAIN_MS = 500;

const TIME_IS_UP = "it exceeded its time limit";

/** Never throws: a failed start is a result. */
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

/** Never throws; see `ended`. */
export function startProgram(start: ProgramStart): RunningProgram {
  const child = spawned(start);
  if ("failure" in child) return notStarted(child.failure);
  child.stdin?.on("error", () => undefined); // it closed its input or ended; writers check `writable`
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
      // Processes that it started and left behind end with it when it was told to end.
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
      detached: isForeground !== true && process.platform !== "win32", // its own group, so that its child processes end with it
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
    // all processes have ended
  }
}

/** Resolves when both streams have ended, or after the waiting time. */
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
