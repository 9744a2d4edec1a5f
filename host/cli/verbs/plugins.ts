/** Wiring of `svc plugins ...`. */
import type { Command } from "commander";
import type { DoctorFlags } from "../plugins/doctor.ts";
import type { InstallFlags } from "../plugins/install.ts";
import type { RemoveFlags } from "../plugins/remove.ts";
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
  addInstallVerbs(plugins, { output, act });
  addCareVerbs(plugins, { output, act });
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
}

/** What changes which plugins are here. */
function addInstallVerbs(plugins: Command, { output, act }: Pick<Wiring, "output" | "act">): void {
  const agreeing = (command: Command) =>
    withTarget(command)
      .option("--yes", "agree to everything it asks for")
      .option("--agree <word>", "agree to what was shown with this word, and to nothing else")
      .option(...JSON_OPTION);
  agreeing(plugins.command("install <spec>"))
    .description(
      "Install a plugin: from the npm registry, or an archive, a directory or a git repository of this machine",
    )
    .option("--link", "use the directory where it lies, without a copy: for development")
    .addHelpText("after", "\nShows what the plugin asks for and installs it when you agree. Runs no install scripts.")
    .addHelpText(
      "after",
      examples(
        "svc plugins install some-plugin",
        "svc plugins install @someone/some-plugin@1.2.0 --yes",
        "svc plugins install ./some-plugin-1.2.0.tgz",
        "svc plugins install ~/src/some-plugin --link",
        "svc plugins install git+file:///home/me/some-plugin#v1.2.0",
      ),
    )
    .action((spec: string, flags: InstallFlags) =>
      act(async () => (await import("../plugins/install.ts")).installPlugin(spec, flags, output)),
    );
  agreeing(plugins.command("update <id>"))
    .description("Install the newest version of what a plugin was installed from; the one before is kept")
    .addHelpText("after", "\nAsks again only when it wants more than was agreed to.")
    .addHelpText("after", examples("svc plugins update some-plugin"))
    .action((id: string, flags: InstallFlags) =>
      act(async () => (await import("../plugins/install.ts")).updatePlugin(id, flags, output)),
    );
  withTarget(plugins.command("remove <id>"))
    .description("Remove an installed plugin; what it stored and its configuration stay")
    .option("--purge", "remove these, too")
    .option(...JSON_OPTION)
    .addHelpText("after", examples("svc plugins remove some-plugin", "svc plugins remove some-plugin --purge"))
    .action((id: string, flags: RemoveFlags) =>
      act(async () => (await import("../plugins/remove.ts")).removePlugin(id, flags, output)),
    );
  for (const [verb, enabled, description] of [
    ["enable", true, "Let a disabled plugin run again"],
    ["disable", false, "Take a plugin out of service, and keep it out"],
  ] as const)
    withTarget(plugins.command(`${verb} <id>`))
      .description(description)
      .option(...JSON_OPTION)
      .addHelpText("after", examples(`svc plugins ${verb} some-plugin`))
      .action((id: string, flags: TargetFlags) =>
        act(async () => (await import("../plugins/switch.ts")).switchPlugin(id, enabled, flags, output)),
      );
}

/** What finds out which plugin is at fault. */
function addCareVerbs(plugins: Command, { output, act }: Pick<Wiring, "output" | "act">): void {
  withTarget(plugins.command("doctor"))
    .description("What is wrong with the installed plugins, and what to do")
    .option("--fix", "remove what interrupted installs left behind; nothing else is changed")
    .option(...JSON_OPTION)
    .addHelpText("after", "\nExits with 1 when something is broken. Changes nothing without --fix.")
    .addHelpText("after", examples("svc plugins doctor", "svc plugins doctor --fix"))
    .action((flags: DoctorFlags) =>
      act(async () => (await import("../plugins/doctor.ts")).examinePlugins(flags, output)),
    );
}
