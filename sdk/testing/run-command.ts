/** Runs a command of a plugin in a test, without a terminal and without a process. */
import assert from "node:assert/strict";
import { PassThrough, Readable } from "node:stream";
import type { Command, CommandContext } from "../cli.ts";
import type { GatewayClient } from "../client/gateway-client.ts";
import { isGatewayError } from "../gateway-error.ts";

/** How a command is run. */
export interface CommandRunOptions {
  readonly args?: readonly string[];
  /** Replace the defaults of the command's options. */
  readonly options?: Readonly<Record<string, unknown>>;
  readonly json?: boolean;
  /** What is typed on standard input. Default: nothing, and it is no terminal. */
  readonly input?: string | Uint8Array;
  /** Results by method name; an `Error` refuses, a function gets the params. A method without one fails the test. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** A real connection in place of `answers`. */
  readonly connect?: CommandContext["connect"];
  readonly stateDir?: string;
  readonly target?: CommandContext["target"];
}

/** What a command did. */
export interface CommandRun {
  /** Values and lines of standard output. */
  readonly printed: readonly unknown[];
  /** Lines of standard error. */
  readonly notes: readonly string[];
  /** `printed` as lines. */
  readonly text: string;
  /** Calls in order. */
  readonly asked: readonly (readonly [method: string, params: unknown])[];
  /** Scopes of its connections, in order. */
  readonly scopes: readonly string[];
  /** 0 unless it returned another one; 1 when it threw. */
  readonly code: number;
  readonly error?: Error;
  /** That of the error, or empty. */
  readonly message: string;
}

/**
 * Runs one of `commands` and checks that it closes its connections.
 * @param name as in `Command.name`. @throws AssertionError the name is unknown, a connection stays open, or a method has no answer
 */
export async function runCommand(
  commands: readonly Command[],
  name: string,
  { args = [], options = {}, json = false, input, answers = {}, connect, stateDir, target }: CommandRunOptions = {},
): Promise<CommandRun> {
  const command = commands.find((one) => one.name === name) ?? assert.fail(`no command ${name}`);
  const printed: unknown[] = [];
  const notes: string[] = [];
  const asked: [method: string, params: unknown][] = [];
  const scopes: string[] = [];
  let open = 0;
  const answer = (method: string, params: unknown): unknown => {
    asked.push([method, params]);
    assert.ok(Object.hasOwn(answers, method), `no answer for ${method}`);
    const given = answers[method];
    if (given instanceof Error) throw given;
    return typeof given === "function" ? (given as (params: unknown) => unknown)(params) : given;
  };
  const client = {
    call: async ({ name: method }: { readonly name: string }, params: unknown) => answer(method, params),
    request: async (method: string, params: unknown) => answer(method, params),
    close: async () => void (open -= 1),
  } as unknown as GatewayClient; // the parts that commands use
  const output = new PassThrough();
  output.on("data", (chunk) => void printed.push(String(chunk)));
  const context: CommandContext = {
    args,
    options: { ...defaultsOf(command), ...options },
    json,
    connect(wanted) {
      scopes.push(...(wanted?.scopes ?? []));
      if (connect) return connect(wanted);
      open += 1;
      return Promise.resolve(client);
    },
    stateDir: stateDir ?? "/nowhere",
    holder: () => Promise.resolve(undefined),
    target: target ?? (() => Promise.reject(new Error("the test names no gateway"))),
    print: (value) => void printed.push(value),
    note: (line) => void notes.push(line),
    input: Readable.from(input === undefined ? [] : [input]),
    output,
  };
  const [code, error] = await command.run(context).then(
    (exit) => [exit ?? 0, undefined] as const,
    (thrown: unknown) => [1, thrown instanceof Error ? thrown : new Error(String(thrown))] as const,
  );
  if (error !== undefined && !isGatewayError(error) && error.name === "AssertionError") throw error;
  assert.equal(open, 0, "every connection is closed");
  const text = printed.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join("\n");
  return { printed, notes, text, asked, scopes, code, ...(error ? { error } : {}), message: error?.message ?? "" };
}

/** `--days <n>` with a default is the option `days`. */
function defaultsOf({ options = [] }: Command): Record<string, unknown> {
  return Object.fromEntries(
    options.flatMap(({ flags, default: value }) => {
      const name = /--([\w-]+)/.exec(flags)?.[1]?.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
      return name === undefined || value === undefined ? [] : [[name, value]];
    }),
  );
}
