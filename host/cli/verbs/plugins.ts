/** Wiring of `svc plugins ...`. */
import type { Command } from "commander";
import type { UseFlags } from "../plugins/use.ts";
import type { CheckFlags } from "../plugins/check.ts";
import type { NewFlags } from "../plugins/new.ts";
import type { TargetFlags } from "../target.ts";
import { examples, JSON_OPTION, type Wiring, withTarget } from "../verb.ts";

export function addPluginVerbs({ program, output, act }: Wiring): void {
  const plugins = program.command("plugins").description("What is installed, and what the gateway made of it");
  withTarget(plugins.command("list"))
    .description("All plugins, their state and why one is not active")
    .option(...JSON_OPTION)
    .addHelpText("after", "\nAsks the running gateway; when none answers within a second, tells of the last start.")
    .addHelpText("after", examples("svc plugins list", "svc plugins list --json"))
    .action((flags: TargetFlags) => act(async () => (await import("../plugins/list.ts")).listPlugins(flags, output)));
  withTarget(plugins.command("why <id>"))
    .description("Why a plugin is not active, what it waits for, and what to do")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc plugins why notes"))
    .action((id: string, flags: TargetFlags) =>
      act(async () => (await import("../plugins/why.ts")).explainPlugin(id, flags, output)),
    );
  withTarget(plugins.command("reload <id>"))
    .description("Load a plugin's code anew in the running gateway, without a restart")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc plugins reload notes"))
    .action((id: string, flags: TargetFlags) =>
      act(async () => (await import("../plugins/reload.ts")).reloadPlugin(id, flags, output)),
    );
  plugins
    .command("use [names...]")
    .description("Choose which plugins the gateway runs: a profile of the bundle, or exactly these")
    .option("--profile <name>", "the plugins of this profile, and those that are named")
    .option("--with-requirements", "add the plugins that the named ones cannot do without")
    .option(...JSON_OPTION)
    .addHelpText("after", "\nWrites plugins.use. A single name that is a profile is the profile.")
    .addHelpText("after", examples("svc plugins use minimal", "svc plugins use config notes --with-requirements"))
    .action((names: string[], flags: UseFlags) =>
      act(async () => (await import("../plugins/use.ts")).usePlugins(names, flags, output)),
    );
  withTarget(plugins.command("inspect <id>"))
    .description("Everything about one plugin: what it declared, and what it costs")
    .option(...JSON_OPTION)
    .addHelpText("after", "\nAsks the running gateway; when none answers within a second, tells what the package says.")
    .addHelpText("after", examples("svc plugins inspect notes", "svc plugins inspect notes --json"))
    .action((id: string, flags: TargetFlags) =>
      act(async () => (await import("../plugins/inspect.ts")).inspectPlugin(id, flags, output)),
    );
  addAuthorVerbs(plugins, { output, act });
}

/** For those who write plugins. */
function addAuthorVerbs(plugins: Command, { output, act }: Pick<Wiring, "output" | "act">): void {
  plugins
    .command("new <name>")
    .description("Make a plugin: typed, documented, with a test that passes")
    .option("--namespace", "methods of its own, and an event (default)")
    .option("--channel", "lets people of another network talk to an agent")
    .option("--tool", "something an agent can do")
    .option("--provider", "another kind of model server")
    .option("--transform", "one file that makes a webhook into an action")
    .option("--dir <parent>", "directory it is made in (default: this one)")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc plugins new notes", "svc plugins new notes --tool --dir ~/plugins"))
    .action((name: string, flags: NewFlags) =>
      act(async () => (await import("../plugins/new.ts")).newPlugin(name, flags, output)),
    );
  plugins
    .command("check [path]")
    .description("Is a plugin fit to be given to others? Runs it in a process and a gateway of its own (default: .)")
    .option("--config <file>", "configuration it is tried with")
    .option("--samples <file>", 'params that must be answered: { "<method>": [{ ... }] }')
    .option(...JSON_OPTION)
    .addHelpText(
      "after",
      "\nIt runs the plugin's code with your rights. Exits 1 when a check failed; warnings do not count.",
    )
    .addHelpText("after", examples("svc plugins check", "svc plugins check ./notes --json"))
    .action((path: string | undefined, flags: CheckFlags) =>
      act(async () => (await import("../plugins/check.ts")).checkPluginAt(path ?? ".", flags, output)),
    );
}
