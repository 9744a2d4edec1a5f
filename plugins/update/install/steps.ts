/** Runs the programs of an update in sequence, and records the result of each. */
import { commandText, type ProgramEnd, type ProgramRun, runProgram } from "@svc/kit/exec";
import type { Clock, Static } from "@svc/sdk";
import type { UpdateStep } from "@svc/sdk/update";
import { withoutSecrets } from "./environment.ts";

export type StepRecord = Static<typeof UpdateStep>;

/** Choice: UTF-16 units shown of each output stream, from its end. */
const TAIL = 4_000;

/** A program, and the arguments that precede those of every call. */
export interface Program {
  readonly file: string;
  readonly args: readonly string[];
}

export interface StepOptions {
  readonly cwd: string;
  /** Added to the environment of every step. */
  readonly env?: Readonly<Record<string, string>>;
  /** The step continues when the gateway stops, so that a change begun on disk is completed. */
  readonly isShielded?: boolean;
}

/** A failed step. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
  readonly step: StepRecord;

  constructor(step: StepRecord, why: string) {
    super(`${step.name}: ${why}`);
    this.step = step;
  }
}

export interface Steps {
  readonly records: readonly StepRecord[];
  /** Runs a program. @returns how the program ended, also after a failure */
  attempt(name: string, program: Program, args: readonly string[], options: StepOptions): Promise<ProgramEnd>;
  /** Runs a program. @returns the standard output of the program, trimmed. @throws StepFailed */
  run(name: string, program: Program, args: readonly string[], options: StepOptions): Promise<string>;
  /** Records a step that was run elsewhere. */
  add(name: string, command: readonly string[], cwd: string, startedAt: number, end: ProgramEnd): StepRecord;
}

export interface StepsOptions {
  readonly clock: Pick<Clock, "elapsed">;
  /** Milliseconds each step may take. */
  readonly timeoutMs: number;
  /** Aborts the running step. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string>>;
  /** Values hidden in all output. */
  readonly secrets: readonly string[];
  readonly start?: (run: ProgramRun) => Promise<ProgramEnd>;
}

const NEVER = new AbortController().signal;

export function createSteps({ clock, timeoutMs, signal, env, secrets, start = runProgram }: StepsOptions): Steps {
  const records: StepRecord[] = [];
  const tail = (text: string) => withoutSecrets(text, secrets).trim().slice(-TAIL);

  function add(name: string, command: readonly string[], cwd: string, startedAt: number, end: ProgramEnd): StepRecord {
    const [stdout, stderr] = [tail(end.stdout), tail([end.stderr, end.error ?? ""].join("\n"))];
    const record = {
      name,
      command: withoutSecrets(commandText(command), secrets),
      cwd,
      durationMs: Math.round(clock.elapsed() - startedAt),
      exitCode: end.exitCode,
      ...(stdout ? { stdoutTail: stdout } : {}),
      ...(stderr ? { stderrTail: stderr } : {}),
    };
    records.push(record);
    return record;
  }

  async function attempt(name: string, program: Program, args: readonly string[], options: StepOptions) {
    const startedAt = clock.elapsed();
    const all = [program.file, ...program.args, ...args];
    const end = await start({
      file: program.file,
      argv: all,
      cwd: options.cwd,
      env: { ...env, ...options.env },
      timeoutMs,
      signal: options.isShielded ? NEVER : signal,
      stopReason: "the gateway stops",
    });
    add(name, all, options.cwd, startedAt, end);
    return end;
  }

  return {
    records,
    attempt,
    add,
    async run(name, program, args, options) {
      const end = await attempt(name, program, args, options);
      const record = records.at(-1);
      if (end.exitCode === 0 || record === undefined) return end.stdout.trim();
      throw new StepFailed(record, whyOf(end, record));
    },
  };
}

function whyOf(end: ProgramEnd, { stderrTail = "", stdoutTail = "" }: StepRecord): string {
  if (end.timedOut) return "it timed out";
  const last = (stderrTail || stdoutTail)
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-3)
    .join("; ");
  return last || end.error || `it ended with ${end.exitCode}`;
}
