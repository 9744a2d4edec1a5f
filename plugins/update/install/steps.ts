/** Runs the programs of an update one after the other, and keeps what each came to. */
import { commandText, type ProgramEnd, type ProgramRun, runProgram } from "@svc/kit/exec";
import type { Clock, Static } from "@svc/sdk";
import type { UpdateStep } from "@svc/sdk/update";
import { withoutSecrets } from "./environment.ts";

export type StepRecord = Static<typeof UpdateStep>;

/** UTF-16 units of each stream that are shown. Choice. */
const TAIL = 4_000;

/** A program and the arguments it always gets. */
export interface Program {
  readonly file: string;
  readonly args: readonly string[];
}

export interface StepOptions {
  readonly cwd: string;
  /** Beside what every step gets. */
  readonly env?: Readonly<Record<string, string>>;
  /** It has to end whatever happens to the gateway: what was begun on disk is brought to an end. */
  readonly isShielded?: boolean;
}

/** A step that did not do what it should. */
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
  /** Never throws for how it ends. */
  attempt(name: string, program: Program, args: readonly string[], options: StepOptions): Promise<ProgramEnd>;
  /** @returns what it wrote on standard output, trimmed. @throws StepFailed */
  run(name: string, program: Program, args: readonly string[], options: StepOptions): Promise<string>;
  /** Takes up one that was run elsewhere. */
  add(name: string, command: readonly string[], cwd: string, startedAt: number, end: ProgramEnd): StepRecord;
}

export interface StepsOptions {
  readonly clock: Pick<Clock, "elapsed">;
  /** Milliseconds each may take. */
  readonly timeoutMs: number;
  /** Ends what runs. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string>>;
  /** Never shown. */
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
  if (end.timedOut) return "it took longer than it was allowed to";
  const last = (stderrTail || stdoutTail)
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-3)
    .join("; ");
  return last || end.error || `it ended with ${end.exitCode}`;
}
