/** The command `svc`. Built-in verbs are wired here; plugins add theirs, read from their package.json only when needed. */
import { Command, CommanderError } from "commander";
import { VERSION } from "../version.ts";
import type { RunFlags } from "./gateway-run.ts";
import { createOutput, EXIT, reportFailure } from "./output.ts";
import type { InstalledCommand } from "./plugin-verbs.ts";

type Action = () => Promise<number> | number;

/** First words whose verbs are all built in: for these no plugin's package.json is even read. */
const BUILT_IN = [
  /^gateway (run|call)\b/,
  /^plugins (list|inspect)\b/,
  /^config (get|file|validate)\b/,
  /^--version\b/,
];

/** Runs one command line (without `node` and the script). @returns the exit code */
export async function main(argv: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  const output = createOutput(argv.includes("--json"));
  const act = async (action: Action) => {
    exitCode = await action();
  };
  const program = createProgram(act, output);
  try {
    if (!BUILT_IN.some((pattern) => pattern.test(argv.join(" "))) || argv.includes("--help") || argv.includes("-h")) {
      const { installedCommands } = await import("./plugin-verbs.ts");
      for (const verb of await installedCommands()) await addVerb(program, verb, argv, act, output);
    }
    await program.parseAsync([...argv], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return reportFailure(error, output);
  }
  return exitCode;
}

const TARGET_OPTIONS: readonly (readonly [flags: string, description: string])[] = [
  ["--url <url>", "gateway to talk to (default: ws://127.0.0.1 and its port)"],
  ["--token <token>", "gateway token (default: SVC_GATEWAY_TOKEN, configuration, kept token)"],
  ["--password <password>", "gateway password (default: SVC_GATEWAY_PASSWORD, configuration)"],
];

function withTarget(command: Command): Command {
  for (const [flags, description] of TARGET_OPTIONS) command.option(flags, description);
  return command;
}

function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

function createProgram(act: (action: Action) => Promise<void>, output: ReturnType<typeof createOutput>): Command {
  const program = new Command("svc")
    .description("A single-port gateway that people extend with plugins.")
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError("(add --help for what is possible)")
    .addHelpText("after", "\nExit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 no gateway answered.");
  const json = ["--json", "print one JSON value"] as const;

  const gateway = program.command("gateway").description("Run a gateway, and talk to one");
  gateway
    .command("run")
    .description("Run the gateway in this terminal")
    .option("--port <port>", "port to listen on; 0 picks a free one (default: SVC_GATEWAY_PORT, gateway.port, 18789)")
    .option("--log-level <level>", "debug, info, warn, error or silent")
    .option(...json)
    .addHelpText("after", examples("svc gateway run", "svc gateway run --port 19001"))
    .action((flags: RunFlags) => act(async () => (await import("./gateway-run.ts")).runGateway(flags, output)));
  withTarget(gateway.command("call <method>"))
    .description("Call any method of a running gateway")
    .option("--params <json>", "params of the method")
    .option("--timeout <ms>", "milliseconds to wait; 0 for no limit (default: 30000)")
    .option("--final", "for methods that answer twice: wait for the second answer")
    .option(...json)
    .addHelpText(
      "after",
      examples("svc gateway call config.get", `svc gateway call some.method --params '{"limit": 5}' --json`),
    )
    .action((method: string, flags: object) =>
      act(async () => (await import("./gateway-call.ts")).callMethod(method, flags, output)),
    );

  const plugins = program.command("plugins").description("What is installed, and what the last start made of it");
  plugins
    .command("list")
    .description("All plugins, their state at the last start and why one is not active")
    .option(...json)
    .action(() => act(async () => (await import("./plugins.ts")).listPlugins(output)));
  plugins
    .command("inspect <id>")
    .description("Everything known about one plugin")
    .option(...json)
    .action((id: string) => act(async () => (await import("./plugins.ts")).inspectPlugin(id, output)));

  const config = program.command("config").description("The configuration file");
  config
    .command("get [path]")
    .description("The configuration or one value of it, secrets hidden")
    .option(...json)
    .addHelpText("after", examples("svc config get", "svc config get gateway.port"))
    .action((path: string | undefined) => act(async () => (await import("./config.ts")).getConfig(path, output)));
  config
    .command("file")
    .description("Where the configuration file is")
    .option(...json)
    .action(() => act(async () => (await import("./config.ts")).printConfigFile(output)));
  config
    .command("validate")
    .description("Check the configuration file; starts nothing")
    .option(...json)
    .action(() => act(async () => (await import("./config.ts")).validateConfig(output)));
  return program;
}

/** Adds a plugin's verb. Its own options are only known after its file is loaded, which happens when argv names it. */
async function addVerb(
  program: Command,
  installed: InstalledCommand,
  argv: readonly string[],
  act: (action: Action) => Promise<void>,
  output: ReturnType<typeof createOutput>,
): Promise<void> {
  const words = installed.name.split(" ");
  const last = words.at(-1) ?? installed.name;
  const parent = words
    .slice(0, -1)
    .reduce(
      (command, word) => command.commands.find((child) => child.name() === word) ?? command.command(word),
      program,
    );
  if (parent.commands.some((child) => child.name() === last)) {
    return output.note(`plugin ${installed.plugin}: its command "${installed.name}" is already there and was left out`);
  }
  const command = withTarget(parent.command(last).description(installed.summary))
    .option("--json", "print one JSON value")
    .exitOverride();
  if (!words.every((word, index) => argv[index] === word)) return;
  const { loadVerb, verbContext } = await import("./plugin-verbs.ts");
  const verb = await loadVerb(installed);
  for (const argument of verb.args?.split(/\s+(?=[<[])/).filter(Boolean) ?? []) command.argument(argument);
  for (const { flags, description, default: value } of verb.options ?? []) command.option(flags, description, value);
  if (verb.examples) command.addHelpText("after", examples(...verb.examples));
  command.action(() => act(async () => (await verb.run(verbContext(command.args, command.opts(), output))) ?? EXIT.ok));
}

process.exitCode = await main(process.argv.slice(2));
