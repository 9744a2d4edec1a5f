/** `svc models ...`: lists, checks, adds and selects models. */
import { invalidRequest, isGatewayError } from "@svc/sdk";
import { askingWith, type CommandContext, defineCommands, show, showFindings, withGateway } from "@svc/sdk/cli";
import { config } from "@svc/sdk/config";
import { models } from "@svc/sdk/models";
import { addModels } from "./cli-add.ts";
import { defaultModelOf, patchOf } from "./default-model.ts";
import { aliasLines, findingsOf, listLines, statusLines, testLines } from "./report.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

/** The usual reason of `UNAVAILABLE` is a server that does not respond. */
const ask = askingWith({
  plugin: "models",
  step: ({ code }) =>
    code === "UNAVAILABLE"
      ? "start that server, or correct its address: svc config get models.providers; svc models status shows the accounts"
      : undefined,
});

/** Choice: timeout of a test in milliseconds; loading a model may take minutes. */
const TEST_TIMEOUT_MS = 120_000;

export default defineCommands([
  {
    name: "models list",
    summary: "List the usable models",
    examples: ["svc models list", "svc models list --json"],
    run: (context) =>
      withGateway(context, ["operator.read"], async (client) =>
        show(context, await client.call(models.list, {}), listLines),
      ),
  },
  {
    name: "models status",
    summary: "Show accounts, cooldowns, the default model and aliases",
    examples: ["svc models status", "svc models status --json"],
    run: (context) =>
      withGateway(context, ["operator.read"], async (client) => {
        const status = await client.call(models.status, {});
        const chosen = await chosenDefault(client);
        show(context, chosen ? { ...status, default: chosen } : status, (value) => statusLines(value, Date.now()));
      }),
  },
  {
    name: "models aliases",
    summary: "List aliases of models",
    examples: ["svc models aliases"],
    run: (context) =>
      withGateway(context, ["operator.read"], async (client) => {
        const { aliases } = await client.call(models.status, {});
        show(context, { aliases }, aliasLines);
      }),
  },
  {
    name: "models set",
    summary: "Set the default model",
    args: "<ref>",
    examples: ["svc models set anthropic/claude-sonnet-5", "svc models set fast"],
    run: (context) => withGateway(context, ["operator.admin"], (client) => setDefault(context, client)),
  },
  {
    name: "models doctor",
    summary: "Check that providers accept their keys and are available",
    options: [{ flags: "--running", description: "the gateway of this state directory is running: query it" }],
    examples: ["svc models doctor --running", "svc models doctor --running --json"],
    async run(context) {
      if (context.options["running"] !== true) {
        show(context, { findings: [] }, () => ["Providers are checked in a running gateway."]);
        return 0;
      }
      const status = await withGateway(context, ["operator.read"], (client) => client.call(models.status, {}));
      return showFindings(context, findingsOf(status, Date.now()));
    },
  },
  {
    name: "models add",
    summary: "Connect a model server: read its model list and write it to the configuration",
    args: "<url>",
    options: [
      {
        flags: "--name <provider>",
        description: "provider name, before the slash of model references (default: from the address)",
      },
      {
        flags: "--key-env <variable>",
        description: "environment variable with the key; absent: the server needs none",
      },
      {
        flags: "--model <id>",
        description: "add only this model; can be repeated (default: all models)",
        repeatable: true,
      },
      { flags: "--yes", description: "write without confirmation" },
    ],
    help: [
      "Works with any server that offers the chat-completions API, including one on this machine. The key itself is never written.",
    ],
    examples: [
      "svc models add http://127.0.0.1:11434",
      "svc models add https://api.acme.example/v1 --key-env ACME_API_KEY --model large-2",
    ],
    run: (context) => addModels(context),
  },
  {
    name: "models test",
    summary: "Ask a model one short question; this costs a few tokens",
    args: "[ref]",
    examples: ["svc models test", "svc models test anthropic/claude-sonnet-5"],
    run: (context) =>
      ask(context, ["operator.read", "operator.write"], async (client) => {
        const [model] = context.args;
        context.note("Sending one short question; this costs a few tokens.");
        const params = model === undefined ? {} : { model };
        show(context, await client.call(models.test, params, { timeoutMs: TEST_TIMEOUT_MS }), testLines);
      }),
  },
]);

/** The default model of the section `agents`; `undefined`: not set, or the configuration is not available. */
async function chosenDefault(client: Client): Promise<string | undefined> {
  try {
    return defaultModelOf((await client.call(config.get, {})).parsed);
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
}

/** Resolves the reference first, so that an invalid one is refused before anything is written. */
async function setDefault(context: CommandContext, client: Client): Promise<void> {
  const [ref] = context.args;
  if (ref === undefined) invalidRequest("a model is required: `svc models set <provider/id>`; see `svc models list`");
  const { resolved = ref } = await client.call(models.status, { model: ref });
  const { parsed, hash, exists } = await client.call(config.get, {});
  const written = await client.call(config.patch, {
    raw: JSON.stringify(patchOf(parsed, resolved)),
    ...(exists ? { baseHash: hash } : {}),
  });
  const { scheduled, delayMs } = written.restart;
  const result = { model: resolved, path: written.path, changed: written.changed, restart: scheduled };
  show(context, result, ({ model, path, changed }) => [
    changed.length > 0 ? `Default model: ${model} (written to ${path})` : `Default model: ${model}, as before`,
    ...(scheduled ? [`The gateway restarts in ${Math.ceil(delayMs / 1000)} s.`] : []),
  ]);
}
