/** Wiring of `svc plugins ...`. */
import type { UseFlags } from "../plugins/use.ts";
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
  plugins
    .command("inspect <id>")
    .description("Everything known about one plugin")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc plugins inspect notes"))
    .action((id: string) => act(async () => (await import("../plugins/inspect.ts")).inspectPlugin(id, output)));
}
