/** `svc models ...`: lists, checks, adds and selects models. */
import { invalidRequest, isGatewayError } from "@svc/sdk";
import { askingWith, canAsk, type CommandContext, defineCommands, show, showFindings, withGateway } from "@svc/sdk/cli";
import { config } from "@svc/sdk/config";
import { models } from "@svc/sdk/models";
import { addModels } from "./verbs/add.ts";
import { authenticate } from "./verbs/auth.ts";
import { defaultModelOf, patchOf } from "./verbs/default-model.ts";
import { agrees, type Client } from "./verbs/interaction.ts";
import {
  aliasLines,
  allTestedLines,
  findingsOf,
  knownLines,
  listLines,
  statusLines,
  type TestedModel,
  testLines,
} from "./verbs/report.ts";
import { scanServers } from "./verbs/scan.ts";

/** The usual reason of `UNAVAILABLE` is a server that does not respond; `request` is mostly a model that it does not have. */
const ask = askingWith({
  plugin: "models",
  step({ code, details }) {
    if (code !== "UNAVAILABLE") return undefined;
    const { kind } = Object(details) as { readonly kind?: unknown };
    return kind === "request"
      ? "svc models scan lists the models of the servers"
      : "start that server, or correct its address: svc config get models.providers; svc models status shows the accounts";
  },
});

/** Choice: timeout of a test in milliseconds; loading a model may take minutes. */
const TEST_TIMEOUT_MS = 120_000;

export default defineCommands([
  {
    name: "models list",
    summary: "List the usable models",
    options: [{ flags: "--all", description: "also known models that cannot be used now, with the reason and prices" }],
    examples: ["svc models list", "svc models list --all", "svc models list --json"],
    run: (context) =>
      withGateway(context, ["operator.read"], async (client) =>
        context.options["all"] === true
          ? show(context, await client.call(models.known, {}), knownLines)
          : show(context, await client.call(models.list, {}), listLines),
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
    name: "models auth",
    summary: "Set the key of a provider: sign in, or enter it; it is checked before it is written",
    args: "<provider>",
    options: [
      { flags: "--key-env <variable>", description: "environment variable with the key; only its name is written" },
      { flags: "--base-url <url>", description: "address of the server, instead of the known one" },
      { flags: "--paste", description: "openrouter: enter a key instead of signing in with the browser" },
      { flags: "--unchecked", description: "write the key without asking the server" },
      { flags: "--yes", description: "replace an existing key without confirmation" },
    ],
    help: [
      "openrouter: prints an address to open in a browser on this machine, and receives the key from there.",
      "Other providers: asks for the key, without showing it.",
    ],
    examples: [
      "svc models auth openrouter",
      "svc models auth anthropic",
      "svc models auth openai --key-env OPENAI_API_KEY",
    ],
    run: (context) => authenticate(context),
  },
  {
    name: "models scan",
    summary: "Ask model servers for their models: local ones, configured ones, or the named one",
    args: "[provider]",
    options: [
      {
        flags: "--add <id>",
        description: "add this model to the configuration; can be repeated; requires a provider",
        repeatable: true,
      },
    ],
    help: ["Reports keys in the environment of the gateway, and offers to use them. They are never used without that."],
    examples: ["svc models scan", "svc models scan openrouter", "svc models scan mistral --add codestral-2508"],
    run: (context) => scanServers(context),
  },
  {
    name: "models test",
    summary: "Ask a model one short question; this costs a few tokens",
    args: "[ref]",
    options: [
      { flags: "--all", description: "every usable model, one after the other" },
      { flags: "--yes", description: "with --all: without confirmation" },
    ],
    examples: ["svc models test", "svc models test anthropic/claude-sonnet-5", "svc models test --all --yes"],
    run: (context) =>
      context.options["all"] === true
        ? testAll(context)
        : ask(context, ["operator.read", "operator.write"], async (client) => {
            const [model] = context.args;
            context.note("Sending one short question; this costs a few tokens.");
            const params = model === undefined ? {} : { model };
            show(context, await client.call(models.test, params, { timeoutMs: TEST_TIMEOUT_MS }), testLines);
          }),
  },
]);

/** @returns the exit code: 1 if a model failed, or nobody agreed */
async function testAll(context: CommandContext): Promise<number> {
  return ask(context, ["operator.read", "operator.write"], async (client) => {
    const { models: all } = await client.call(models.list, {});
    const count = all.length === 1 ? "1 model" : `${all.length} models`;
    const question = `Send one short question each to ${count}? This costs a few tokens per model.`;
    if (context.options["yes"] !== true && !(await agrees(context, question))) {
      context.note(`Nothing was sent.${canAsk(context) ? "" : "\nNext: repeat the command with --yes"}`);
      return 1;
    }
    const results: TestedModel[] = [];
    for (const { provider, id } of all) {
      const model = `${provider}/${id}`;
      try {
        const { durationMs, cost } = await client.call(models.test, { model }, { timeoutMs: TEST_TIMEOUT_MS });
        results.push({ model, durationMs, ...(cost === undefined ? {} : { cost }) });
      } catch (error) {
        if (!isGatewayError(error)) throw error;
        results.push({ model, error: error.message });
      }
    }
    show(context, { results }, ({ results: tested }) => allTestedLines(tested));
    return results.some(({ error }) => error !== undefined) ? 1 : 0;
  });
}

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
