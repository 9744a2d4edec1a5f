/** For plugins that call model servers: the providers of a configuration that use their API. Pure. */
import type { ConfigView } from "@svc/sdk";
import { knownServer } from "./known-servers.ts";

/** The settings of `models.providers.<name>`, or of one of its accounts, that decide how a server is called. */
export interface ConfiguredServer {
  /** E.g. `models.providers.acme` or `models.providers.acme.accounts[0]`. */
  readonly path: string;
  readonly baseUrl?: string;
  /** Path of the `baseUrl`, also where it is absent. */
  readonly baseUrlPath: string;
  readonly hasKey: boolean;
  /** Belongs to the provider: only its first account has it. */
  readonly authHeader?: boolean;
  readonly authHeaderPath: string;
  /** Lower case. */
  readonly headers: readonly string[];
}

interface Settings {
  readonly api?: string;
  readonly baseUrl?: string;
  readonly apiKey?: unknown;
  readonly authHeader?: boolean;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly models?: readonly { readonly api?: string }[];
  readonly accounts?: readonly Settings[];
}

/** Every account of every provider whose `api`, or that of one of its models, is `api`. */
export function configuredServers({ config }: Pick<ConfigView, "config">, api: string): ConfiguredServer[] {
  const { models } = Object(config) as { models?: { providers?: Readonly<Record<string, Settings>> } }; // checked by the schema of the plugin models
  return Object.entries(models?.providers ?? {}).flatMap(([name, provider]) => {
    const own = provider.api ?? knownServer(name)?.api ?? "openai-completions"; // as in the plugin models
    if (own !== api && !provider.models?.some((model) => model.api === api)) return [];
    const path = `models.providers.${name}`;
    const accounts = provider.accounts ?? [{}];
    return accounts.map((account, index): ConfiguredServer => {
      const all = { ...provider, ...account, headers: { ...provider.headers, ...account.headers } };
      const place = provider.accounts ? `${path}.accounts[${index}]` : path;
      return {
        path: place,
        baseUrlPath: `${account.baseUrl === undefined ? path : place}.baseUrl`,
        ...(all.baseUrl === undefined ? {} : { baseUrl: all.baseUrl }),
        hasKey: all.apiKey !== undefined,
        ...(provider.authHeader === undefined || index > 0 ? {} : { authHeader: provider.authHeader }),
        authHeaderPath: `${path}.authHeader`,
        headers: Object.keys(all.headers).map((header) => header.toLowerCase()),
      };
    });
  });
}
