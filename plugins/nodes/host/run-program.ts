/** Runs one program: no shell, a process group of its own, an end in time, bounded output. */
import { messageOf } from "@svc/sdk/errors";
import { type ChildProcess, spawn } from "node:child_process";
import { BoundedText } from "./bounded-text.ts";

export interface ProgramRun {
  /** Absolute path of the file that runs. */
  readonly file: string;
  /** With the name it is told it has. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Ends it, too. */
  readonly signal: AbortSignal;
}

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

/** Never throws: that it could not be started is a result. */
export async function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  const out = new BoundedText();
  const err = new BoundedText();
  const { exitCode, signal, failure, reason } = await finish(run, out, err);
  const [stdout, stderr] = [out.end(), err.end()];
  const error = failure ?? (signal ? `ended by ${signal}${reason ? `: ${reason}` : ""}` : undefined);
  return {
    exitCode,
    timedOut: reason === TIME_IS_UP,
    stdout: stdout.text,
    stderr: stderr.text,
    truncated: stdout.truncated || stderr.truncated,
    ...(error === undefined ? {} : { error }),
  };
}

const TIME_IS_UP = "it took longer than it was allowed to";
const NODE_STOPS = "the node is being stopped";

interface Finished {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it did not start. */
  readonly failure?: string;
  /** Why it was ended. */
  readonly reason?: string;
}

function finish(run: ProgramRun, out: BoundedText, err: BoundedText): Promise<Finished> {
  const child = start(run);
  if ("failure" in child) return Promise.resolve({ exitCode: null, signal: null, failure: child.failure });
  return new Promise((resolve) => {
    let reason: string | undefined;
    let kill: NodeJS.Timeout | undefined;
    const end = (why: string) => {
      if (reason !== undefined) return;
      reason = why;
      signalGroup(child, "SIGTERM");
      kill = setTimeout(() => signalGroup(child, "SIGKILL"), KILL_AFTER_MS);
    };
    const onAbort = () => end(NODE_STOPS);
    const late = setTimeout(() => end(TIME_IS_UP), run.timeoutMs);
    run.signal.addEventListener("abort", onAbort, { once: true });
    if (run.signal.aborted) onAbort();
    const settle = (finished: Finished) => {
      clearTimeout(late);
      clearTimeout(kill);
      run.signal.removeEventListener("abort", onAbort);
      resolve(reason === undefined ? finished : { ...finished, reason });
    };
    child.stdout?.on("data", (chunk: Buffer) => out.append(chunk));
    child.stderr?.on("data", (chunk: Buffer) => err.append(chunk));
    child.once("error", ({ message }) =>
      settle({ exitCode: null, signal: null, failure: `it did not start: ${message}` }),
    );
    child.once("exit", (exitCode, signal) => {
      // What it started and left behind goes with it when it was told to end.
      if (reason !== undefined) signalGroup(child, "SIGKILL");
      void drained(child).then(() => settle({ exitCode, signal }));
    });
  });
}

function start({ file, argv, cwd, env }: ProgramRun): ChildProcess | { readonly failure: string } {
  const [name = file, ...args] = argv;
  try {
    return spawn(file, args, {
      argv0: name,
      cwd,
      env: { ...env },
      detached: process.platform !== "win32", // a group of its own, so that what it starts ends with it
      stdio: ["ignore", "pipe", "pipe"],
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
