/** `svc models scan [provider]`: asks servers for their models, and offers to add what is not configured. */
import { invalidRequest, type ResultOf } from "@svc/sdk";
import { canAsk, type CommandContext, commandText, show, visible, withGateway } from "@svc/sdk/cli";
import { config } from "@svc/sdk/config";
import { models } from "@svc/sdk/models";
import { agrees, type Client, writeProvider } from "./interaction.ts";
import { factsOf } from "./report.ts";

type Scan = ResultOf<typeof models.scan>;
type Server = Scan["servers"][number];

/** Maximum milliseconds of the whole scan; models printed for each server unless it is named. */
const SCAN_TIMEOUT_MS = 60_000;
const MAX_PRINTED = 20;

interface ScanFlags {
  readonly add?: readonly string[];
}

/** @returns the exit code: 1 if the named server could not be read */
export async function scanServers(context: CommandContext): Promise<number> {
  const [provider] = context.args;
  const { add } = context.options as ScanFlags;
  if (add && provider === undefined)
    invalidRequest("--add requires a provider\nNext: svc models scan <provider> --add <id>");
  return withGateway(context, ["operator.admin"], async (client) => {
    const params = provider === undefined ? {} : { provider };
    const found = await client.call(models.scan, params, { timeoutMs: SCAN_TIMEOUT_MS });
    if (add) return addModels(context, client, found, add);
    show(context, found, () => scanLines(found, provider !== undefined));
    if (canAsk(context)) await offerKeys(context, client, found);
    return provider !== undefined && found.servers.some(({ problem }) => problem !== undefined) ? 1 : 0;
  });
}

export function scanLines({ servers, environment }: Scan, isComplete: boolean): string[] {
  const lines = servers.flatMap((server) => serverLines(server, isComplete));
  const keys = environment.map(({ variable, provider, configured }) =>
    configured
      ? `${variable} is set for ${provider}, which is configured.`
      : `${variable} is set, and ${provider} is not configured. Next: svc models auth ${provider} --key-env ${variable}`,
  );
  const all = [...lines, ...keys];
  return all.length > 0
    ? all
    : ["No model servers: no local server responds, and none is configured.", "Next: svc models auth <provider>"];
}

function serverLines(server: Server, isComplete: boolean): string[] {
  const { provider, api, baseUrl, problem, configured, hasList, total } = server;
  const head = `${provider} (${api}${baseUrl === undefined ? "" : `, ${visible(baseUrl)}`})`;
  if (problem !== undefined) return [`${head}: ${visible(problem)}`];
  const added = server.models.filter(({ isNew }) => isNew);
  const shown = [...added, ...server.models.filter(({ isNew }) => !isNew)].slice(
    0,
    isComplete ? undefined : MAX_PRINTED,
  );
  const width = Math.max(0, ...shown.map(({ id }) => visible(id).length));
  const more = total - shown.length;
  return [
    `${head}: ${total} ${total === 1 ? "model" : "models"}${added.length > 0 ? `, ${added.length} not configured` : ""}`,
    ...shown.map((model) =>
      [`  ${model.isNew ? "+" : " "} ${visible(model.id).padEnd(width)}`, ...factsOf(model)].join("  ").trimEnd(),
    ),
    ...(more > 0 ? [`    and ${more} more${isComplete ? "" : `: svc models scan ${provider}`}`] : []),
    ...(added.length > 0
      ? [
          configured && hasList
            ? `  Add one: svc models scan ${provider} --add <id>`
            : `  Use them: svc models auth ${provider}`,
        ]
      : []),
  ];
}

/** Choice: what the server states is written with the model, since the public facts may not have it. */
async function addModels(
  context: CommandContext,
  client: Client,
  { servers }: Scan,
  ids: readonly string[],
): Promise<number> {
  const [server] = servers;
  if (!server || server.problem !== undefined) invalidRequest(server?.problem ?? "the server was not found");
  const { provider, configured, hasList } = server;
  if (!hasList)
    invalidRequest(
      configured
        ? `models.providers.${provider} lists no models, so all of them can be used already\nNext: svc models test ${commandText([`${provider}/${ids[0] ?? ""}`])}`
        : `${provider} is not configured\nNext: svc models auth ${provider}`,
    );
  const chosen = ids.map(
    (id) => server.models.find((model) => model.id === id) ?? invalidRequest(`${provider} has no model ${visible(id)}`),
  );
  const entries = chosen.map(({ id, name, contextWindow, reasoning, input, cost }) => ({
    id,
    ...(name === id ? {} : { name }),
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(input === undefined ? {} : { input: input.filter((kind) => kind === "text" || kind === "image") }),
    ...(cost === undefined ? {} : { cost }),
  }));
  const snapshot = await client.call(config.get, {});
  const { path } = await writeProvider(client, snapshot, provider, { models: entries });
  const refs = chosen.map(({ id }) => `${provider}/${id}`);
  show(context, { models: refs, path }, () => [`Added ${refs.map(visible).join(", ")} (written to ${path})`]);
  return 0;
}

/** Offers to use the keys in the environment of the gateway. */
async function offerKeys(context: CommandContext, client: Client, { environment }: Scan): Promise<void> {
  for (const { variable, provider, configured } of environment) {
    if (configured || !(await agrees(context, `Write models.providers.${provider} with the key \${${variable}}?`)))
      continue;
    const snapshot = await client.call(config.get, {});
    const { path } = await writeProvider(client, snapshot, provider, { apiKey: `\${${variable}}` });
    context.print(`Wrote models.providers.${provider} to ${path}. Its models: svc models list`);
  }
}
