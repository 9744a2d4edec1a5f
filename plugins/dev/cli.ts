/** Verbs for plugin authors. */
import { RUN_OPTIONS, type RunFlags } from "@svc/cli";
import { defineCommands } from "@svc/sdk/cli";
import { type BisectFlags, bisectPlugins } from "./bisect/bisect.ts";
import { type CheckFlags, checkPluginAt } from "./check/check.ts";
import { declareAt, type DeclareFlags } from "./check/declare.ts";
import { showDocs } from "./docs/docs.ts";
import { newPlugin, type NewFlags } from "./new/new.ts";
import { runDev } from "./run/run.ts";
import { trim, type TrimFlags } from "./trim/trim.ts";

export default defineCommands([
  {
    name: "dev",
    summary: "Run a gateway with a plugin in development, and reload it on each save",
    isLocal: true,
    args: "<path>",
    options: RUN_OPTIONS,
    help: [
      "<path> is a package directory or one file. TypeScript runs directly; types are not checked.",
      "A version that fails changes nothing: the previous one keeps serving, and the error names its line.",
    ],
    examples: ["svc dev ./greet.ts --port 0", "svc plugins new notes && svc dev notes"],
    run: (context) => runDev(context.args[0] ?? "", context.options as RunFlags, context),
  },
  {
    name: "docs",
    summary: "Look up a name: method, event, hook, service, error code, configuration key, ...",
    isLocal: true,
    args: "[word...]",
    options: [{ flags: "--out <dir>", description: "write the whole reference as Markdown files" }],
    help: [
      "It knows the SDK and the plugins installed here, used or not. Methods of other plugins: svc plugins inspect <id>.",
      "A name that no entry has lists the names that contain it.",
    ],
    examples: ["svc docs sessions.list", "svc docs gateway.port", "svc docs hooks", "svc docs --out ./reference"],
    run: showDocs,
  },
  {
    name: "plugins new",
    summary: "Create a plugin: typed, documented, with a passing test",
    isLocal: true,
    args: "<name>",
    options: [
      { flags: "--namespace", description: "methods and an event (default)" },
      { flags: "--channel", description: "connects another chat network" },
      { flags: "--tool", description: "a tool for models" },
      { flags: "--provider", description: "a client for another kind of model server" },
      { flags: "--transform", description: "one file that turns a webhook into an action" },
      { flags: "--dir <parent>", description: "parent directory (default: the current one)" },
    ],
    examples: ["svc plugins new notes", "svc plugins new notes --tool --dir ~/plugins"],
    run: async (context) => newPlugin(context.args[0] ?? "", context.options as NewFlags, context),
  },
  {
    name: "plugins check",
    summary: "Check whether a plugin is ready to publish, in its own process and gateway (default: .)",
    isLocal: true,
    args: "[path]",
    options: [
      { flags: "--config <file>", description: "configuration for the trial run" },
      { flags: "--samples <file>", description: 'params that methods must accept: { "<method>": [{ ... }] }' },
    ],
    help: ["Runs the plugin's code with your permissions. Exits with 1 if a check failed; warnings do not count."],
    examples: ["svc plugins check", "svc plugins check ./notes --json"],
    run: (context) => checkPluginAt(context.args[0] ?? ".", context.options as CheckFlags, context),
  },
  {
    name: "plugins declare",
    summary: "Write a plugin's declarations to package.json and declared.json (default: .)",
    isLocal: true,
    args: "[path]",
    options: [{ flags: "--config <file>", description: "configuration for the setup" }],
    help: [
      "Starts the plugin in a temporary gateway and writes the lists of package.json: svc.namespaces, section, routes, gates,",
      "contributes and commands. If some declarations depend on the configuration, pass it with --config <file>.",
      "For a built plugin it also writes declared.json next to the entry: the plugin sleeps until it is used. Run it after each build.",
    ],
    examples: ["svc plugins declare", "svc plugins declare ./notes"],
    run: (context) => declareAt(context.args[0] ?? ".", context.options as DeclareFlags, context),
  },
  {
    name: "plugins bisect",
    summary: "Find the plugin that makes a command fail or a gateway unhealthy",
    isLocal: true,
    args: "[command...]",
    options: [{ flags: "--timeout <seconds>", description: "time limit of one try (default: 60)" }],
    help: [
      "Starts temporary gateways with your configuration, an empty state and fewer and fewer plugins; the real one is not touched.",
      "Plugins are started in them: stop the real gateway first if a plugin uses an account that allows only one login.",
      "The command runs with SVC_STATE_DIR and SVC_CONFIG_PATH of the temporary gateway; exit code 0 means passed.",
      "Without a command, a try passes if the gateway starts and none of its plugins failed.",
    ],
    examples: ["svc plugins bisect", "svc plugins bisect -- svc config validate"],
    run: (context) => bisectPlugins(context.args, context.options as BisectFlags, context),
  },
  {
    name: "trim",
    summary: "Write a self-contained directory: the host, chosen plugins and their dependencies",
    isLocal: true,
    options: [
      { flags: "--out <dir>", description: "directory to write; must be missing or empty", required: true },
      { flags: "--profile <name>", description: "use the plugins of this profile of the bundle" },
      { flags: "--plugins <list>", description: "use these plugins, separated by commas, in addition to the profile" },
      { flags: "--with-requirements", description: "also use the plugins that the named ones require" },
      { flags: "--all-platforms", description: "include native add-ons for other systems" },
    ],
    help: ["Without --profile and --plugins: the plugins in the configuration."],
    examples: [
      "svc trim --out ./gateway --profile minimal",
      "svc trim --out ./gateway --plugins config,notes --with-requirements",
    ],
    run: (context) => trim(context.options as unknown as TrimFlags, context), // `--out` is required
  },
]);
