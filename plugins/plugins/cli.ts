/** `svc plugins ...`. Each verb is imported when it runs. */
import { type Command, type CommandContext, defineCommands } from "@svc/sdk/cli";

const AGREEING: NonNullable<Command["options"]> = [
  { flags: "--yes", description: "agree to all requested permissions" },
  { flags: "--agree <word>", description: "agree to exactly the permissions shown with this word" },
];

const first = ({ args }: CommandContext) => args[0] ?? "";

export default defineCommands([
  {
    name: "plugins list",
    summary: "List the plugins, their state and why one is not active",
    help: ["Queries the running gateway; without a response within a second, shows the states of the last start."],
    examples: ["svc plugins list", "svc plugins list --json"],
    run: async (context) => (await import("./cli/list.ts")).listPlugins(context),
  },
  {
    name: "plugins why",
    summary: "Explain why a plugin is not active, and the next step",
    args: "<id>",
    examples: ["svc plugins why notes"],
    run: async (context) => (await import("./cli/why.ts")).explainPlugin(first(context), context),
  },
  {
    name: "plugins reload",
    summary: "Reload a plugin's code in the running gateway",
    args: "<id>",
    examples: ["svc plugins reload notes"],
    run: async (context) => (await import("./cli/reload.ts")).reloadPlugin(first(context), context),
  },
  {
    name: "plugins install",
    summary: "Install a plugin from the npm registry, an archive, a directory or a git repository",
    args: "<spec>",
    options: [
      ...AGREEING,
      { flags: "--link", description: "use the directory in place, without a copy; for development" },
    ],
    help: ["Shows the requested permissions and installs the plugin once you agree. Runs no install scripts."],
    examples: [
      "svc plugins install some-plugin",
      "svc plugins install @someone/some-plugin@1.2.0 --yes",
      "svc plugins install ./some-plugin-1.2.0.tgz",
      "svc plugins install ~/src/some-plugin --link",
      "svc plugins install git+file:///home/me/some-plugin#v1.2.0",
    ],
    run: async (context) => (await import("./cli/install.ts")).installPlugin(first(context), context),
  },
  {
    name: "plugins update",
    summary: "Install the newest version of a plugin; the previous one is kept",
    args: "<id>",
    options: AGREEING,
    help: ["Asks again only for permissions that were not agreed to before."],
    examples: ["svc plugins update some-plugin"],
    run: async (context) => (await import("./cli/install.ts")).updatePlugin(first(context), context),
  },
  {
    name: "plugins remove",
    summary: "Remove an installed plugin; its data and configuration stay",
    args: "<id>",
    options: [
      { flags: "--purge", description: "also remove its data and configuration" },
      { flags: "--yes", description: "accepted for scripts; has no effect, because nothing is asked" },
    ],
    examples: ["svc plugins remove some-plugin", "svc plugins remove some-plugin --purge"],
    run: async (context) => (await import("./cli/remove.ts")).removePlugin(first(context), context),
  },
  {
    name: "plugins enable",
    summary: "Enable a disabled plugin",
    args: "<id>",
    examples: ["svc plugins enable some-plugin"],
    run: async (context) => (await import("./cli/switch.ts")).switchPlugin(first(context), true, context),
  },
  {
    name: "plugins disable",
    summary: "Disable a plugin",
    args: "<id>",
    examples: ["svc plugins disable some-plugin"],
    run: async (context) => (await import("./cli/switch.ts")).switchPlugin(first(context), false, context),
  },
  {
    name: "plugins doctor",
    summary: "Check the installed plugins",
    options: [
      { flags: "--fix", description: "remove what interrupted installs left behind; nothing else is changed" },
      { flags: "--running", description: "accepted from svc doctor; has no effect" },
    ],
    help: ["Exits with 1 if there is an error. Changes nothing without --fix."],
    examples: ["svc plugins doctor", "svc plugins doctor --fix"],
    run: async (context) => (await import("./cli/doctor.ts")).checkInstallation(context),
  },
  {
    name: "plugins use",
    summary: "Choose the plugins that the gateway runs: a profile, or a list",
    isLocal: true,
    args: "[names...]",
    options: [
      { flags: "--profile <name>", description: "use the plugins of this profile and the named ones" },
      { flags: "--with-requirements", description: "also use the plugins that the named ones require" },
    ],
    help: ["Writes plugins.use. A single name that matches a profile selects the profile."],
    examples: ["svc plugins use minimal", "svc plugins use config notes --with-requirements"],
    run: async (context) => (await import("./cli/use.ts")).usePlugins(context.args, context),
  },
  {
    name: "plugins inspect",
    summary: "Show a plugin's declarations and figures",
    args: "<id>",
    help: ["Queries the running gateway; without a response within a second, shows the facts of the package."],
    examples: ["svc plugins inspect notes", "svc plugins inspect notes --json"],
    run: async (context) => (await import("./cli/inspect.ts")).inspectPlugin(first(context), context),
  },
]);
