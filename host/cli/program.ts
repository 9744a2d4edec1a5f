/** All verbs of `svc` in one tree: the built-in ones, and those of plugins when needed. */
import { Command } from "commander";
import { type Command as Verb, type CommandContext, withNext } from "@svc/sdk/cli";
import { isGatewayError } from "@svc/sdk/errors";
import { EXIT, type Output, VerbRefusal } from "./output.ts";
import { VERSION } from "./package-json.ts";
import type { InstalledCommand } from "./plugin-verbs.ts";
import { examples, JSON_OPTION, type Wiring, withTarget } from "./verb.ts";
import { wrap } from "./wrap.ts";
import { addCompletionVerb } from "./verbs/completion.ts";
import { addConfigVerbs } from "./verbs/config.ts";
import { addDoctorVerb } from "./verbs/doctor.ts";
import { addGatewayVerbs } from "./verbs/gateway.ts";
import { addSecurityVerbs } from "./verbs/security.ts";

/** The built-in verbs. */
export function createProgram(output: Output, act: Wiring["act"]): Command {
  const program = new Command("svc")
    .description("A single-port gateway, extended by plugins.")
    .version(VERSION)
    .exitOverride()
    .enablePositionalOptions() // a verb and its subcommands may have the same options
    .showHelpAfterError("(see the usage with --help)")
    .addHelpText(
      "after",
      wrap(
        "\nExit codes: 0 success, 1 refused or failed, 2 wrong usage, 3 no gateway answered, 4 another gateway uses the state directory, 75 the supervisor must start it again.",
      ),
    );
  const wiring = { program, output, act };
  addGatewayVerbs(wiring);
  addConfigVerbs(wiring);
  addDoctorVerb(wiring);
  addSecurityVerbs(wiring);
  addCompletionVerb(wiring);
  return program;
}

/** Adds the verbs of plugins with their summaries; a verb that `words` begin with also gets its options. */
export async function addInstalledVerbs(wiring: Wiring, words: readonly string[]): Promise<void> {
  const { installedCommands } = await import("./plugin-verbs.ts");
  const found = await installedCommands();
  const groups = found.filter(({ isGroup }) => isGroup);
  for (const { name, summary } of groups)
    if (!wiring.program.commands.some((child) => child.name() === name))
      wiring.program.command(name).description(summary);
  // In help, the verbs of the plugin that describes a group precede those that other plugins add to it.
  const rank = ({ plugin }: InstalledCommand) => (groups.some((group) => group.plugin === plugin) ? 0 : 1);
  const verbs = found.filter(({ isGroup }) => !isGroup).sort((one, other) => rank(one) - rank(other));
  for (const verb of verbs) await addInstalledVerb(wiring, verb, words);
}

/** The verb's options are known only after its file is loaded. */
async function addInstalledVerb(
  { program, output, act }: Wiring,
  installed: InstalledCommand,
  argv: readonly string[],
): Promise<void> {
  const words = installed.name.split(" ");
  const last = words.at(-1) ?? installed.name;
  const parent = words
    .slice(0, -1)
    .reduce(
      (command, word) =>
        command.commands.find((child) => child.name() === word) ??
        command.command(word).description(whatItDoes(installed)),
      program,
    );
  if (parent.commands.some((child) => child.name() === last)) {
    return output.note(`plugin ${installed.plugin}: its command "${installed.name}" already exists and was skipped`);
  }
  const command = parent
    .command(last)
    .description(installed.summary)
    .option(...JSON_OPTION)
    .exitOverride();
  if (!words.every((word, index) => argv[index] === word)) return;
  const { loadVerb, verbContext } = await import("./plugin-verbs.ts");
  const verb = await loadVerb(installed);
  if (!verb.isLocal) withTarget(command);
  for (const argument of verb.args?.split(/\s+(?=[<[])/).filter(Boolean) ?? []) command.argument(argument);
  for (const { flags, description, default: value, repeatable, required } of verb.options ?? []) {
    if (required) command.requiredOption(flags, description);
    else if (repeatable) command.option(flags, description, collect);
    else command.option(flags, description, value);
  }
  if (verb.help) command.addHelpText("after", wrap(`\n${verb.help.join("\n")}`));
  if (verb.examples) command.addHelpText("after", examples(...verb.examples));
  command.action(() => act(() => runVerb(verb, installed.plugin, verbContext(command.args, command.opts(), output))));
}

/** Choice: a verb that refuses before it connects to a gateway reports wrong usage. The next step names a missing plugin. */
async function runVerb(verb: Verb, plugin: string, context: CommandContext): Promise<number> {
  let hasAsked = verb.isLocal === true;
  const connect: CommandContext["connect"] = (options) => {
    hasAsked = true;
    return context.connect(options);
  };
  const target: CommandContext["target"] = () => {
    hasAsked = true; // the verb connects by itself
    return context.target();
  };
  try {
    return (await verb.run({ ...context, connect, target })) ?? EXIT.ok;
  } catch (error) {
    if (isGatewayError(error)) {
      const { code } = Object(error.details) as { readonly code?: unknown };
      const own = verb.exitCodes?.[String(code)];
      const exitCode = own ?? (error.code === "INVALID_REQUEST" && !hasAsked ? EXIT.usage : undefined);
      if (exitCode !== undefined) throw new VerbRefusal(error, exitCode);
    }
    throw withNext(error, { plugin, step: () => undefined });
  }
}

/** Choice: a parent command that no group describes gets the description of the package. */
function whatItDoes({ plugin, manifest: { description } }: InstalledCommand): string {
  return description?.replace(/\.$/, "") ?? `Commands of ${plugin}`;
}

/** Collects the values of a repeatable option. */
function collect(value: string, former: readonly string[] = []): readonly string[] {
  return [...former, value];
}
