/** Commands that plugins add to `svc`. Loaded only when one of them runs; help reads their summaries from package.json. */
import type { GatewayClient } from "./client/index.ts";
import { type NextStep, withNext } from "./next-step.ts";
import { visible } from "./terminal-text.ts";

export { namesNextStep, type NextStep, withNext } from "./next-step.ts";
export { cut, table, time, visible, visibleLines } from "./terminal-text.ts";

/** A gateway as the options, the environment, the configuration and the last start name it. */
export interface CommandTarget {
  /** As it was written. */
  readonly url: string;
  /** SHA-256 of the certificate that is trusted. Absent: those this machine trusts. */
  readonly tlsFingerprint?: string;
  /** Named by the options or the environment; what lies on this machine only for the gateway that runs here. */
  readonly token?: string;
  readonly password?: string;
}

/** What the verb `<name> doctor` of a plugin found; `svc doctor` reads `{ findings }` of each. */
export interface DoctorFinding {
  /** `info`: nothing is wrong; what is in force. */
  readonly severity: "error" | "warning" | "info";
  /** Name of the check. */
  readonly check: string;
  /** A file, a key, a plugin. */
  readonly about: string;
  readonly message: string;
  /** The next step: a command, or what to do. */
  readonly next: string;
}

/** What a command gets. */
export interface CommandContext {
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
  /** `--json` was given: print one JSON value and nothing else. */
  readonly json: boolean;
  /** Connects to the gateway that `--url`, `--token`, the environment or the state directory name. */
  connect(options?: {
    scopes?: readonly string[];
    caps?: readonly string[];
    timeoutMs?: number;
    /** Connects again when the connection is lost; default false. */
    reconnect?: boolean;
  }): Promise<GatewayClient>;
  /** State directory of this machine: `SVC_STATE_DIR`, else `.svc` in the home directory. Nothing is made. */
  readonly stateDir: string;
  /** What `connect` would connect to, for verbs that connect on their own. */
  target(): Promise<CommandTarget>;
  /** Prints a line (or the JSON value) on standard output. */
  print(value: unknown): void;
  /** Prints a line on standard error. */
  note(line: string): void;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** One verb of `svc`. */
export interface Command {
  /**
   * Words after `svc`, e.g. `gateway probe`; the same as in package.json under `svc.commands`. An entry there with
   * `isGroup: true` is no verb: its summary is what help says of all verbs that begin with its name.
   */
  readonly name: string;
  readonly summary: string;
  /** Positional arguments in commander's notation, e.g. `<key> [text...]`. */
  readonly args?: string;
  readonly options?: readonly {
    readonly flags: string;
    readonly description: string;
    readonly default?: string | boolean;
    /** It may be given several times; its value is a list of texts then, in order. Has no default. */
    readonly repeatable?: boolean;
    /** A command line without it is wrong usage. */
    readonly required?: boolean;
  }[];
  /** It talks to no gateway: `--url`, `--token` and `--password` are not offered, and may be options of its own. */
  readonly isLocal?: boolean;
  /** Lines of `--help` below the options. */
  readonly help?: readonly string[];
  /** Whole command lines for `--help`. */
  readonly examples?: readonly string[];
  /** @returns the exit code; default 0. A thrown `GatewayError` is printed and becomes 1. */
  run(context: CommandContext): Promise<number | void>;
}

/** Declares the verbs of a plugin; the default export of its `svc.cli` file. */
export function defineCommands(commands: readonly Command[]): readonly Command[] {
  return commands;
}

/** Connects with these scopes, runs `work`, and closes whatever comes of it. */
export async function withGateway<T>(
  context: CommandContext,
  scopes: readonly string[],
  work: (client: GatewayClient) => Promise<T>,
): Promise<T> {
  const client = await context.connect({ scopes });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** `withGateway` for the verbs of one plugin: a refusal says how to go on. @param next where it does not say so itself */
export function askingWith(next: NextStep) {
  /** @param step instead of the usual one */
  return async <T>(
    context: CommandContext,
    scopes: readonly string[],
    work: (client: GatewayClient) => Promise<T>,
    step: NextStep["step"] = next.step,
  ): Promise<T> => {
    try {
      return await withGateway(context, scopes, work);
    } catch (error) {
      throw withNext(error, { ...next, step });
    }
  };
}

/** Prints the value with `--json`, else the lines made of it. */
export function show<T>(context: CommandContext, value: T, lines: (value: T) => readonly string[]): void {
  if (context.json) context.print(value);
  else for (const line of lines(value)) context.print(line);
}

/** Shows what the verb `<name> doctor` found. @returns the exit code: 1 when something is broken */
export function showFindings(context: CommandContext, findings: readonly DoctorFinding[]): number {
  show(context, { findings }, () => [
    ...(findings.every(({ severity }) => severity === "info") ? ["Nothing is wrong."] : []),
    ...findings.map(({ about, message, next }) => `${visible(about)}: ${visible(message)}\nNext: ${visible(next)}`),
  ]);
  return findings.some(({ severity }) => severity === "error") ? 1 : 0;
}

/**
 * The setting of the configuration file, as `svc config get <path> --json` shows it to this verb: secrets are left out.
 * @returns `null`: it is not set, or the file cannot be read
 */
export async function configuredValue(path: string): Promise<unknown> {
  const { execFile } = await import("node:child_process");
  const [, script = ""] = process.argv;
  const words = [script, "config", "get", path, "--json"];
  const text = await new Promise<string>((resolve) => {
    execFile(process.execPath, words, (error, stdout) => resolve(error ? "null" : stdout));
  });
  return JSON.parse(text) as unknown;
}

/** Whether somebody reads or types there. */
export function isTerminal(stream: NodeJS.ReadableStream | NodeJS.WritableStream): boolean {
  return (stream as { isTTY?: boolean }).isTTY === true; // only the streams of a terminal have it
}

/** Asks a person; to be called on a terminal. @returns whether the answer is yes; anything else is no */
export async function askYes(
  question: string,
  { input, output }: { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream },
): Promise<boolean> {
  const { createInterface } = await import("node:readline/promises");
  const reader = createInterface({ input, output });
  try {
    return /^y(?:es)?$/i.test((await reader.question(`${question} [y/N] `)).trim());
  } finally {
    reader.close();
  }
}

/** Words that a shell takes as they are. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** The command line that means these arguments to a POSIX shell; what people are shown. */
export function commandText(argv: readonly string[]): string {
  return argv.map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}
