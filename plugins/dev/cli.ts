/** Verbs for authors of plugins. */
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
    summary: "Run the gateway with a plugin that is being written; each save puts it in place anew",
    isLocal: true,
    args: "<path>",
    options: RUN_OPTIONS,
    help: [
      "<path> is a package directory or one file. Its TypeScript runs as it is; types are not checked.",
      "A version that fails changes nothing: the former one serves on, and the error names its line.",
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
    summary: "Make a plugin: typed, documented, with a test that passes",
    isLocal: true,
    args: "<name>",
    options: [
      { flags: "--namespace", description: "methods of its own, and an event (default)" },
      { flags: "--channel", description: "lets people of another network talk to the gateway" },
      { flags: "--tool", description: "something a model can do" },
      { flags: "--provider", description: "another kind of model server" },
      { flags: "--transform", description: "one file that makes a webhook into an action" },
      { flags: "--dir <parent>", description: "directory it is made in (default: this one)" },
    ],
    examples: ["svc plugins new notes", "svc plugins new notes --tool --dir ~/plugins"],
    run: async (context) => newPlugin(context.args[0] ?? "", context.options as NewFlags, context),
  },
  {
    name: "plugins check",
    summary: "Is a plugin fit to be given to others? Runs it in a process and a gateway of its own (default: .)",
    isLocal: true,
    args: "[path]",
    options: [
      { flags: "--config <file>", description: "configuration it is tried with" },
      { flags: "--samples <file>", description: 'params that must be answered: { "<method>": [{ ... }] }' },
    ],
    help: ["It runs the plugin's code with your rights. Exits 1 when a check failed; warnings do not count."],
    examples: ["svc plugins check", "svc plugins check ./notes --json"],
    run: (context) => checkPluginAt(context.args[0] ?? ".", context.options as CheckFlags, context),
  },
  {
    name: "plugins declare",
    summary: "Write what the code of a plugin declares to package.json and declared.json (default: .)",
    isLocal: true,
    args: "[path]",
    options: [{ flags: "--config <file>", description: "configuration it is set up with" }],
    help: [
      "It starts the plugin in a throw-away gateway and writes the lists of package.json: svc.namespaces, section, routes, gates,",
      "contributes and commands. A plugin that declares more with some configuration needs that one: --config <file>.",
      "Beside the entry of a built plugin it writes declared.json: the plugin sleeps until somebody uses it. Run it after each build.",
    ],
    examples: ["svc plugins declare", "svc plugins declare ./notes"],
    run: (context) => declareAt(context.args[0] ?? ".", context.options as DeclareFlags, context),
  },
  {
    name: "plugins bisect",
    summary: "Find the plugin that makes a command fail, or keeps a gateway from being well",
    isLocal: true,
    args: "[command...]",
    options: [{ flags: "--timeout <seconds>", description: "how long one try may take (default: 60)" }],
    help: [
      "Starts throw-away gateways with your configuration, an empty state and ever fewer plugins; the real one is left alone.",
      "Plugins are started in them: stop the real gateway first where one holds an account that can only be used once.",
      "The command runs with SVC_STATE_DIR and SVC_CONFIG_PATH of the throw-away gateway; exit code 0 means well.",
      "Without a command a gateway is well when it starts and none of its plugins failed.",
    ],
    examples: ["svc plugins bisect", "svc plugins bisect -- svc config validate"],
    run: (context) => bisectPlugins(context.args, context.options as BisectFlags, context),
  },
  {
    name: "trim",
    summary: "Write a directory that runs by itself: the host, chosen plugins and what they need",
    isLocal: true,
    options: [
      { flags: "--out <dir>", description: "directory to write; it must not exist, or be empty", required: true },
      { flags: "--profile <name>", description: "the plugins of this profile of the bundle" },
      { flags: "--plugins <list>", description: "these plugins, separated by commas, beside those of the profile" },
      { flags: "--with-requirements", description: "add the plugins that the named ones cannot do without" },
      { flags: "--all-platforms", description: "keep add-ons in machine code for other systems, too" },
    ],
    help: ["Without --profile and --plugins: what the configuration uses."],
    examples: [
      "svc trim --out ./gateway --profile minimal",
      "svc trim --out ./gateway --plugins config,notes --with-requirements",
    ],
    run: (context) => trim(context.options as unknown as TrimFlags, context), // `--out` is required
  },
]);
