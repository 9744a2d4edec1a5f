/** The accounts of a provider, as it is asked with them. Pure. */
import type { ProviderAccount } from "@svc/sdk/services";
import type { ProviderEntry } from "./config.ts";

/** In the order of the configuration; at least one. What an account leaves out is the provider's. */
export function accountsOf(name: string, entry: ProviderEntry): ProviderAccount[] {
  const { accounts } = entry;
  if (!accounts) return [account(name, entry, entry)];
  return accounts.map((own) =>
    account(`${name}:${own.name}`, entry, {
      ...own,
      baseUrl: own.baseUrl ?? entry.baseUrl,
      headers: { ...entry.headers, ...own.headers },
    }),
  );
}

interface Settings {
  readonly apiKey?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

function account(name: string, { authHeader }: ProviderEntry, { apiKey, baseUrl, headers }: Settings): ProviderAccount {
  const key = keyAs(authHeader, apiKey);
  const all = { ...key.headers, ...headers };
  return {
    name,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(key.apiKey === undefined ? {} : { apiKey: key.apiKey }),
    ...(Object.keys(all).length > 0 ? { headers: all } : {}),
  };
}

/** The key as the kind of server sends it, or as the header that was asked for. */
function keyAs(
  authHeader: boolean | undefined,
  apiKey: string | undefined,
): { apiKey?: string | undefined; headers?: Readonly<Record<string, string>> } {
  if (authHeader === undefined || apiKey === undefined) return { apiKey };
  return { headers: authHeader ? { authorization: `Bearer ${apiKey}` } : { "x-api-key": apiKey } };
}

/** The account, with further headers of a model. */
export function withHeaders(account: ProviderAccount, headers: Readonly<Record<string, string>> | undefined) {
  return headers ? { ...account, headers: { ...account.headers, ...headers } } : account;
}

/** Whether a key goes along, be it as a header. */
export function hasKey({ apiKey, headers = {} }: ProviderAccount): boolean {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  return apiKey !== undefined || names.includes("authorization") || names.includes("x-api-key");
}
