/** Asks model servers for their models: `models.scan`. */
import { withDeadline } from "@svc/kit/time";
import {
  type Clock,
  type ExtensionView,
  invalidRequest,
  isGatewayError,
  notFound,
  type ParamsOf,
  type ResultOf,
} from "@svc/sdk";
import type { KnownModel, ModelProvider, models, ProviderAccount } from "@svc/sdk/models";
import { accountsOf, withKey } from "../asking/accounts.ts";
import { knownOf } from "../catalogue/catalogue.ts";
import { KNOWN_SERVERS, knownServer } from "@svc/kit/providers";
import { type Server, serverOf } from "../catalogue/servers.ts";
import type { ModelDesk } from "../models.ts";
import { listOpenRouter } from "./openrouter.ts";

type Params = ParamsOf<typeof models.scan>;
type Result = ResultOf<typeof models.scan>;
type Scanned = Result["servers"][number];

/** Choice: maximum models of a server in a result; maximum milliseconds for one server. */
const MAX_MODELS = 1_000;
const SERVER_MS = 15_000;

export interface ScanOptions {
  readonly desk: ModelDesk;
  readonly providers: ExtensionView<ModelProvider>;
  readonly clock: Pick<Clock, "setTimeout">;
  /** The environment of the gateway. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Choice: a server that fails is reported with its reason, so that one does not hide the others. */
export async function scan({ provider, account }: Params, options: ScanOptions, signal: AbortSignal): Promise<Result> {
  const { desk, env } = options;
  if (account && provider === undefined) invalidRequest("account requires provider");
  await desk.discover(true);
  const names = provider === undefined ? allOf(desk) : [provider];
  const servers = await Promise.all(names.map(async (name) => scanOne(name, account, options, signal)));
  const environment = Object.entries(KNOWN_SERVERS).flatMap(([name, known]) =>
    (provider === undefined || provider === name ? known.env : [])
      .filter((variable) => Boolean(env[variable]?.trim()))
      .map((variable) => ({ variable, provider: name, configured: Object.hasOwn(desk.config.providers, name) })),
  );
  return { servers, environment };
}

/** Configured providers, and local servers that have answered. */
function allOf(desk: ModelDesk): string[] {
  const found = desk.catalogue().found.map((model) => model.provider);
  return [...new Set([...Object.keys(desk.config.providers), ...found])];
}

async function scanOne(
  name: string,
  own: Params["account"],
  { desk, providers, clock }: ScanOptions,
  signal: AbortSignal,
): Promise<Scanned> {
  const configured = Object.hasOwn(desk.config.providers, name);
  const server = own ? withOwn(name, desk, own) : (desk.server(name) ?? serverOf(name, {}));
  const { api, entry, place } = server;
  if (!configured && !own && !knownServer(name))
    notFound(`no provider "${name}"; known ones: ${Object.keys(KNOWN_SERVERS).join(", ")}`);
  const base = {
    provider: name,
    api,
    ...(entry.baseUrl === undefined ? {} : { baseUrl: addressOf(entry.baseUrl) }),
    configured,
    hasList: configured && desk.config.providers[name]?.models !== undefined,
  };
  try {
    const late = () => `the server of "${name}" did not list its models within ${SERVER_MS / 1_000} s`;
    const found = await withDeadline({ ms: SERVER_MS, clock, signals: [signal], late }, async (until) => {
      const read = own ? undefined : desk.readFrom(name);
      if (read) return read.map(knownOf);
      const account = await accountOf(name, own, server, desk, until);
      return askServer({ name, api, place }, account, providers, until);
    });
    if (!found) return { ...base, ...unsupported(name, api, providers.get(api) !== undefined), models: [], total: 0 };
    const usable = new Set(
      desk
        .catalogue()
        .configured.filter((model) => model.provider === name)
        .map(({ id }) => id),
    );
    const isOpen = configured ? !base.hasList : knownServer(name)?.local === true;
    const models = found
      .slice(0, MAX_MODELS)
      .map((model) => ({ ...completed(model, name, place, desk), isNew: !isOpen && !usable.has(model.id) }));
    return { ...base, models, total: found.length };
  } catch (error) {
    signal.throwIfAborted();
    const { kind } = Object(isGatewayError(error) ? error.details : undefined) as { kind?: unknown };
    return {
      ...base,
      problem: isGatewayError(error) ? error.message : `the models of "${name}" could not be read`, // other errors may quote a secret
      ...(typeof kind === "string" ? { problemKind: kind } : {}),
      models: [],
      total: 0,
    };
  }
}

/** The models that a server lists, which also checks the key; `undefined`: its API has no list. */
export async function askServer(
  { name, api, place }: Pick<Server, "api"> & { readonly name: string; readonly place?: string | undefined },
  account: ProviderAccount,
  providers: ExtensionView<ModelProvider>,
  signal: AbortSignal,
): Promise<readonly KnownModel[] | undefined> {
  if (place === "openrouter" || name === "openrouter") return listOpenRouter(account, signal);
  const contribution = providers.get(api);
  if (!contribution?.value.listModels) return undefined;
  return providers.call(contribution, async (value) => (await value.listModels?.(account, signal)) ?? []);
}

/** The address without user name, password and query, which may be secrets. */
function addressOf(baseUrl: string): string {
  if (!URL.canParse(baseUrl)) return "an address that is no URL";
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname.replace(/\/$/u, "")}`;
}

/** The server with the settings of the caller. Configured keys and headers are not sent to an address of the caller. */
function withOwn(name: string, desk: ModelDesk, { apiKey: _key, ...settings }: NonNullable<Params["account"]>): Server {
  const { apiKey: _old, accounts: _accounts, headers, ...entry } = desk.config.providers[name] ?? {};
  const kept = settings.baseUrl === undefined && headers !== undefined ? { headers } : {};
  return serverOf(name, { ...entry, ...kept, ...settings });
}

async function accountOf(
  name: string,
  own: Params["account"],
  { entry }: Server,
  desk: ModelDesk,
  signal: AbortSignal,
): Promise<ProviderAccount> {
  const [account = { name }] = own ? accountsOf(name, entry) : desk.accounts(name);
  if (own) return withKey(account, own.apiKey);
  return desk.open(entry.baseUrl === undefined ? account : { baseUrl: entry.baseUrl, ...account }, signal);
}

function unsupported(name: string, api: string, isThere: boolean): Pick<Scanned, "problem" | "problemKind"> {
  const why = isThere
    ? `servers with the API ${api} do not list their models`
    : `no enabled plugin supports the API ${api}`;
  return { problem: `${why}; write them to models.providers.${name}.models`, problemKind: "unsupported" };
}

/** What the server does not state comes from the public facts. */
function completed(model: KnownModel, provider: string, place: string | undefined, desk: ModelDesk): KnownModel {
  const fact = desk.facts().find(place, model.id) ?? {};
  return { ...knownOf({ id: model.id, name: model.name, api: "", ...fact, provider }), ...model, provider };
}
