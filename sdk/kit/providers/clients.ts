/** For plugins that call model servers with a client library: one client per account. */
import type { ProviderAccount } from "@svc/sdk/models";

/** Maximum number of cached clients; the least recently used client is dropped. */
const MAX_CLIENTS = 64;

/** @returns the client of an account, created again when the settings of the account change */
export function clientPerAccount<Client>(
  create: (account: ProviderAccount) => Promise<Client>,
): (account: ProviderAccount) => Promise<Client> {
  const clients = new Map<string, Client>();
  return async (account) => {
    const settings = JSON.stringify([account.baseUrl, account.apiKey, account.headers]);
    const client = clients.get(settings) ?? (await create(account));
    clients.delete(settings);
    clients.set(settings, client);
    const [oldest = settings] = clients.keys();
    if (clients.size > MAX_CLIENTS) clients.delete(oldest);
    return client;
  };
}
