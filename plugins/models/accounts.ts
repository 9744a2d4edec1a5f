/** The accounts of a provider: as they are configured, and as the provider is asked with them. Pure. */
import type { ProviderAccount } from "@svc/sdk/models";
import type { SecretRef } from "@svc/sdk/secrets";
import type { ProviderEntry } from "./config.ts";

/** An account before its key is looked up. */
export interface ConfiguredAccount {
  /** As of `ProviderAccount`. */
  readonly name: string;
  readonly baseUrl?: string;
  /** The key itself, or where it is kept. */
  readonly apiKey?: string | SecretRef;
  /** How the key goes along; `undefined`: as the kind of server does it. */
  readonly authHeader?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** In the order of the configuration; at least one. What an account leaves out is the provider's. */
export function accountsOf(name: string, entry: ProviderEntry): ConfiguredAccount[] {
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
  readonly apiKey?: ConfiguredAccount["apiKey"] | undefined;
  readonly baseUrl?: string | undefined;
  readonly headers?: ConfiguredAccount["headers"] | undefined;
}

function account(
  name: string,
  { authHeader }: ProviderEntry,
  { apiKey, baseUrl, headers }: Settings,
): ConfiguredAccount {
  return {
    name,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(authHeader === undefined ? {} : { authHeader }),
    ...(headers === undefined ? {} : { headers }),
  };
}

/** The account as its provider gets it. @param apiKey the key itself, `undefined` where there is none */
export function withKey(account: ConfiguredAccount, apiKey: string | undefined): ProviderAccount {
  const { name, baseUrl, authHeader, headers } = account;
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

/** Whether a key goes along, be it as a header; nothing is looked up. */
export function hasKey({ apiKey, headers = {} }: ConfiguredAccount): boolean {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  return apiKey !== undefined || names.includes("authorization") || names.includes("x-api-key");
}
