/**
 * Commands that plugins add to `svc`. Imported only when one of them runs; help reads their summaries from
 * package.json.
 */
import type { GatewayClient } from "./client/index.ts";
import { type NextStep, withNext } from "./next-step.ts";
import { visible } from "./terminal-text.ts";

export { namesNextStep, type NextStep, withNext } from "./next-step.ts";
export { commandText } from "./command-text.ts";
export * from "./security-check.ts";
export * from "./setting-path.ts";
export { cut, table, time, visible, visibleLines } from "./terminal-text.ts";

/** Address and credentials of a gateway, from the options, the environment, the configuration or the last start. */
export interface CommandTarget {
  /** URL as given. */
  readonly url: string;
  /** SHA-256 of the trusted certificate. Absent: the certificate authorities of this machine decide. */
  readonly tlsFingerprint?: string;
  /**
   * From the options or the environment; credentials stored on this machine are used only for the gateway running here.
   */
  readonly token?: string;
  readonly password?: string;
}

/** A finding of the verb `<name> doctor` of a plugin; `svc doctor` reads `{ findings }` of each. */
export interface DoctorFinding {
  /** `info`: no problem, only a fact about the current state. */
  readonly severity: "error" | "warning" | "info";
  /** Name of the check. */
  readonly check: string;
  /** The affected file, key or plugin. */
  readonly about: string;
  readonly message: string;
  /** The next step: a command or an action. */
  readonly next: string;
}

/** Context of a command run. */
export interface CommandContext {
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
  /** `--json` was given: print exactly one JSON value. */
  readonly json: boolean;
  /** Connects to the gateway given by `--url`, `--token`, the environment or the state directory. */
  connect(options?: {
    scopes?: readonly string[];
    caps?: readonly string[];
    timeoutMs?: number;
    /** Reconnects when the connection is lost; default false. */
    reconnect?: boolean;
  }): Promise<GatewayClient>;
  /** State directory of this machine: `SVC_STATE_DIR`, else `.svc` in the home directory. It may not exist. */
  readonly stateDir: string;
  /** The gateway that uses the state directory now; `undefined`: none. Without `pid` it does not respond. */
  holder(): Promise<{ readonly pid?: number; readonly url?: string } | undefined>;
  /** The gateway `connect` would use, for verbs that connect themselves. */
  target(): Promise<CommandTarget>;
  /** Prints a line (or the JSON value) to standard output. */
  print(value: unknown): void;
  /** Prints a line to standard error. */
  note(line: string): void;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** One verb of `svc`. */
export interface Command {
  /**
   * Words after `svc`, e.g. `gateway probe`; must match package.json, `svc.commands`. An entry there with `isGroup:
   * true` is not a verb: help shows its summary for all verbs that start with its name.
   */
  readonly name: string;
  readonly summary: string;
  /** Positional arguments in commander's notation, e.g. `<key> [text...]`. */
  readonly args?: string;
  readonly options?: readonly {
    readonly flags: string;
    readonly description: string;
    readonly default?: string | boolean;
    /** The option may be repeated; its value is then a list of strings, in order. Cannot have a default. */
    readonly repeatable?: boolean;
    /** Omitting it is a usage error. */
    readonly required?: boolean;
  }[];
  /**
   * The verb does not connect to a gateway: `--url`, `--token` and `--password` are not added and may be its own
   * options.
   */
  readonly isLocal?: boolean;
  /** Exit codes of refusals by their `details.code`. Default 1. */
  readonly exitCodes?: Readonly<Record<string, number>>;
  /** Lines of `--help` after the options. */
  readonly help?: readonly string[];
  /** Complete command lines for `--help`. */
  readonly examples?: readonly string[];
  /**
   * Lines that `svc gateway run` prints below its addresses once it is up: a label padded to 11 characters, then a value. Only
   * if package.json lists the command with `announces: true` and its plugin is active. Called once, in the process of the
   * gateway, with 2 seconds and for at most 8 lines; what it throws is shown with `--log-level debug` only.
   */
  announce?(context: AnnounceContext): Promise<readonly string[]>;
  /** @returns the exit code; default 0. A thrown `GatewayError` is printed and becomes 1. */
  run(context: CommandContext): Promise<number | void>;
}

/** Context of `Command.announce`. */
export interface AnnounceContext {
  /** Address of the gateway as `http:` or `https:`, without a trailing slash. */
  readonly url: string;
  /** The configuration in use, with secrets hidden. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Standard output is a terminal: only a person reads what is printed. Otherwise print no secret. */
  readonly isTerminal: boolean;
  /** Connects to the gateway as this machine. Close it. */
  connect(scopes: readonly string[]): Promise<GatewayClient>;
}

/** Declares the verbs of a plugin; default export of its `svc.cli` file. */
export function defineCommands(commands: readonly Command[]): readonly Command[] {
  return commands;
}

/** Connects with these scopes, runs `work` and always closes the connection. */
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

/**
 * `withGateway` for the verbs of one plugin; adds the next step to refusals.
 * @param next used if the refusal has no next step
 */
export function askingWith(next: NextStep) {
  /** @param step overrides the default step */
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

/** Prints the value with `--json`, otherwise the lines made from it. */
export function show<T>(context: CommandContext, value: T, lines: (value: T) => readonly string[]): void {
  if (context.json) context.print(value);
  else for (const line of lines(value)) context.print(line);
}

/** Prints the findings of the verb `<name> doctor`. @returns the exit code: 1 if there is an error */
export function showFindings(context: CommandContext, findings: readonly DoctorFinding[]): number {
  show(context, { findings }, () => [
    ...(findings.every(({ severity }) => severity === "info") ? ["No problems found."] : []),
    ...findings.map(({ about, message, next }) => `${visible(about)}: ${visible(message)}\nNext: ${visible(next)}`),
  ]);
  return findings.some(({ severity }) => severity === "error") ? 1 : 0;
}

/**
 * A configuration value as printed by `svc config get <path> --json`: secrets are redacted.
 * @returns `null` if it is not set or the file cannot be read
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

/** Whether the stream is a terminal. */
export function isTerminal(stream: NodeJS.ReadableStream | NodeJS.WritableStream): boolean {
  return (stream as { isTTY?: boolean }).isTTY === true; // only the streams of a terminal have it
}

/** Whether a person can be asked: both streams are terminals, and `--json` was not given. */
export function canAsk({ json, input, output }: CommandContext): boolean {
  return !json && isTerminal(input) && isTerminal(output);
}

/**
 * Asks for a line; call it on a terminal only.
 * @param isSecret what is typed is not shown
 * @returns the line without blanks at its ends; empty after Ctrl-C and at the end of the input
 */
export async function askText(
  question: string,
  { input, output }: Pick<CommandContext, "input" | "output">,
  isSecret = false,
): Promise<string> {
  const { createInterface } = await import("node:readline");
  const { Writable } = await import("node:stream");
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface(isSecret ? { input, output: silent, terminal: true } : { input, output });
  if (isSecret) output.write(question);
  reader.setPrompt(isSecret ? "" : question);
  reader.prompt();
  try {
    const line = await new Promise<string>((resolve) => {
      reader.once("line", resolve);
      reader.once("SIGINT", () => resolve(""));
      reader.once("close", () => resolve(""));
    });
    return line.trim();
  } finally {
    reader.close();
    if (isSecret) output.write("\n");
  }
}

/** Asks a yes/no question; call it on a terminal only. @returns whether the answer is yes; any other answer means no */
export async function askYes(question: string, streams: Pick<CommandContext, "input" | "output">): Promise<boolean> {
  return /^y(?:es)?$/i.test(await askText(`${question} [y/N] `, streams));
}
