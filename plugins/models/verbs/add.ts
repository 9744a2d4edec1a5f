/** `svc models add <url>`: lists the models of a server, and writes an entry for it to the configuration. */
import { invalidRequest } from "@svc/sdk";
import { canAsk, type CommandContext, commandText, show, visible, withGateway } from "@svc/sdk/cli";
import { config } from "@svc/sdk/config";
import { models } from "@svc/sdk/models";
import { defaultModelOf } from "./default-model.ts";
import { agrees, keyOf, providersOf, writeProvider } from "./interaction.ts";
import { askForModels } from "./server-models.ts";

/**
 * Choice: maximum number of models that the command adds without `--model`; in a longer list, nobody finds the used
 * models.
 */
export const MOST_MODELS = 50;

interface AddFlags {
  readonly name?: string;
  readonly keyEnv?: string;
  readonly model?: readonly string[];
  readonly yes?: boolean;
}

/** @returns the exit code */
export async function addModels(context: CommandContext, env: NodeJS.ProcessEnv = process.env): Promise<number> {
  const [address = ""] = context.args;
  const { name: asked, keyEnv, model: chosen, yes } = context.options as AddFlags;
  const { baseUrl, ids } = await askForModels(address, keyEnv === undefined ? undefined : keyOf(keyEnv, env));
  const name = asked ?? nameOf(baseUrl);
  if (!/^[^/:\s]+$/.test(name))
    invalidRequest(
      `--name ${visible(name)}: a name must not contain a slash, colon or blank\nNext: svc models add ${address} --name acme`,
    );
  const wanted = choose(ids, chosen, address);
  const provider = {
    baseUrl,
    ...(keyEnv === undefined ? {} : { apiKey: `\${${keyEnv}}` }),
    models: wanted.map((id) => ({ id })),
  };
  const entry = { models: { providers: { [name]: provider } } };
  return withGateway(context, ["operator.admin"], async (client) => {
    const { parsed, hash, exists, path } = await client.call(config.get, {});
    if (providersOf(parsed)[name] !== undefined)
      invalidRequest(
        `models.providers.${name} already exists; nothing was changed\nNext: add --name with another name, or first: svc config unset models.providers.${name}`,
      );
    if (yes !== true && !(await agrees(context, `${JSON.stringify(entry, null, 2)}\nWrite this to ${path}?`))) {
      context.note(`Nothing was written.${canAsk(context) ? "" : "\nNext: repeat the command with --yes"}`);
      return 1;
    }
    const written = await writeProvider(client, { hash, exists }, name, provider);
    const refs = wanted.map((id) => `${name}/${id}`);
    const first = commandText([refs[0] ?? ""]);
    const isDefault = (defaultModelOf(parsed) ?? (await client.call(models.status, {})).default) === refs[0];
    show(context, { provider: name, baseUrl, models: refs, path: written.path }, () => [
      `Added ${name} with ${refs.length === 1 ? "1 model" : `${refs.length} models`} (written to ${written.path}):`,
      ...refs.map((ref) => `  ${visible(ref)}`),
      ...(keyEnv === undefined
        ? []
        : [`The gateway reads the key from its own environment: set ${keyEnv} there at each start.`]),
      `Try it:              svc models test ${first}`,
      isDefault ? "It is the default model." : `Make it the default: svc models set ${first}`,
    ]);
    return 0;
  });
}

/** Default name: `acme` for `https://api.acme.example/v1`, `local` for an address of this machine. */
export function nameOf(baseUrl: string): string {
  const { hostname } = new URL(baseUrl);
  if (hostname === "localhost" || hostname.startsWith("127.") || hostname === "[::1]") return "local";
  if (/^[\d.]+$|^\[/.test(hostname)) return hostname.replace(/[^\w]+/g, "-").replace(/^-|-$/g, "");
  return hostname.split(".").at(-2) ?? hostname;
}

function choose(ids: readonly string[], chosen: readonly string[] | undefined, address: string): readonly string[] {
  const next = `Next: ${commandText(["svc", "models", "add", address])} --model <id>, repeated for each model`;
  const shown = ids.slice(0, MOST_MODELS).map((id) => `  ${visible(id)}`);
  const absent = chosen?.find((id) => !ids.includes(id));
  if (absent !== undefined)
    invalidRequest([`the server has no model ${visible(absent)}; it has:`, ...shown, next].join("\n"));
  if (chosen) return chosen;
  if (ids.length === 0)
    invalidRequest("the server responds but has no models\nNext: load one there, then repeat the command");
  if (ids.length > MOST_MODELS)
    invalidRequest(
      [`the server has ${ids.length} models; choose some of them. The first ones:`, ...shown, next].join("\n"),
    );
  return ids;
}
