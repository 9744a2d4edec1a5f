/** Wiring of `svc plugins ...`. */
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
    .command("new <name>")
    .description("Make a plugin: typed, documented, with a test that passes")
    .option("--namespace", "methods of its own, and an event (default)")
    .option("--channel", "lets people of another network talk to the gateway")
    .option("--tool", "something a model can do")
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
  plugins
    .command("inspect <id>")
    .description("Everything known about one plugin")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc plugins inspect notes"))
    .action((id: string) => act(async () => (await import("../plugins/inspect.ts")).inspectPlugin(id, output)));
}
