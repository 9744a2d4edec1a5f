/** The configured providers and the local servers, completed with the defaults of their names. Pure. */
import type { ModelsConfig, ProviderEntry } from "../config.ts";
import { KNOWN_SERVERS, knownServer } from "@svc/kit/providers";

/** A configured provider, completed with the defaults of its name. */
export interface Server {
  readonly api: string;
  /** With `baseUrl`, if the configuration or the name determines it. */
  readonly entry: ProviderEntry;
  /** The public server at its address, by its name in `ModelFacts`; `undefined`: another server. */
  readonly place: string | undefined;
}

/** The configured providers by name, in the order of the configuration. */
export function serversOf({ providers }: Pick<ModelsConfig, "providers">): ReadonlyMap<string, Server> {
  return new Map(Object.entries(providers).map(([name, entry]) => [name, serverOf(name, entry)]));
}

/** The local servers that are looked for without being configured, at their default addresses. */
export function localServers(
  { discovery }: Pick<ModelsConfig, "discovery">,
  addresses: Readonly<Partial<Record<keyof ModelsConfig["discovery"], string>>> = {},
): ReadonlyMap<string, Server> {
  const names = (["ollama", "lmstudio"] as const).filter((name) => discovery[name]);
  return new Map(
    names.map((name) => [name, serverOf(name, addresses[name] === undefined ? {} : { baseUrl: addresses[name] })]),
  );
}

export function serverOf(name: string, entry: ProviderEntry): Server {
  const known = knownServer(name);
  const api = entry.api ?? known?.api ?? "openai-completions";
  const baseUrl = entry.baseUrl ?? (known?.api === api || bothOpenAi(known?.api, api) ? known?.baseUrl : undefined);
  const addresses = entry.accounts?.map((account) => account.baseUrl ?? baseUrl) ?? [baseUrl];
  const [place, ...others] = [...new Set(addresses.map((address) => placeAt(address, api)))];
  return {
    api,
    entry: baseUrl === undefined ? entry : { ...entry, baseUrl },
    place: others.length === 0 ? place : undefined,
  };
}

/** The APIs `openai-...` of a server share its address. */
function bothOpenAi(one: string | undefined, other: string): boolean {
  return one?.startsWith("openai-") === true && other.startsWith("openai-");
}

/** Hosts of the public servers without an address above: the defaults of their APIs. */
const HOSTS: ReadonlyMap<string, string> = new Map([
  ["api.anthropic.com", "anthropic"],
  ["generativelanguage.googleapis.com", "google"],
  ...Object.entries(KNOWN_SERVERS).flatMap(([name, { baseUrl, local: isLocal }]) =>
    baseUrl === undefined || isLocal ? [] : [[new URL(baseUrl).hostname, name] as const],
  ),
]);

/** The public server at the default address of an API. */
const DEFAULTS: Readonly<Record<string, string>> = {
  "anthropic-messages": "anthropic",
  "bedrock-converse-stream": "amazon-bedrock",
  "google-generative-ai": "google",
  "openai-responses": "openai",
};

function placeAt(baseUrl: string | undefined, api: string): string | undefined {
  if (baseUrl === undefined) return Object.hasOwn(DEFAULTS, api) ? DEFAULTS[api] : undefined;
  if (!URL.canParse(baseUrl)) return undefined;
  const { hostname } = new URL(baseUrl);
  return /^bedrock-runtime\.[\w-]+\.amazonaws\.com$/u.test(hostname) ? "amazon-bedrock" : HOSTS.get(hostname);
}
