/** Reads the accounts of a provider from the configuration, and converts them for the provider. Pure. */
import type { ProviderAccount } from "@svc/sdk/models";
import type { SecretRef } from "@svc/sdk/secrets";
import type { ProviderEntry } from "../config.ts";

/** A configured account, before its key is looked up. */
export interface ConfiguredAccount {
  /** The name, as in `ProviderAccount`. */
  readonly name: string;
  readonly baseUrl?: string;
  /** The key, or a reference to it. */
  readonly apiKey?: string | SecretRef;
  /** How the key is sent, as in the configuration; `undefined`: the default of the kind of server. */
  readonly authHeader?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** At least one account, in the order of the configuration. Missing settings of an account come from the provider. */
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

/** The account as passed to the provider. @param apiKey the key; `undefined`: none */
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

/** The key as `apiKey`, or as the configured header. */
function keyAs(
  authHeader: boolean | undefined,
  apiKey: string | undefined,
): { apiKey?: string | undefined; headers?: Readonly<Record<string, string>> } {
  if (authHeader === undefined || apiKey === undefined) return { apiKey };
  return { headers: authHeader ? { authorization: `Bearer ${apiKey}` } : { "x-api-key": apiKey } };
}

/** Adds the headers of a model to an account. */
export function withHeaders(account: ProviderAccount, headers: Readonly<Record<string, string>> | undefined) {
  return headers ? { ...account, headers: { ...account.headers, ...headers } } : account;
}

/** Whether a key is configured, possibly as a header; does not look up references. */
export function hasKey({ apiKey, headers = {} }: ConfiguredAccount): boolean {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  return apiKey !== undefined || names.includes("authorization") || names.includes("x-api-key");
}
