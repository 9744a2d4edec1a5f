/** Quota sources of the configured accounts. */
import { type Contribution, type ExtensionView, isGatewayError } from "@svc/sdk";
import type { ModelProvider, ProviderAccount } from "@svc/sdk/models";
import type { ModelQuotas, QuotaSource } from "@svc/sdk/usage";
import { type ConfiguredAccount, hasKey } from "./accounts.ts";

export interface QuotaOptions {
  readonly providers: ExtensionView<ModelProvider>;
  /** All configured accounts with their kind of server, in the order of the configuration. */
  accounts(): readonly { readonly api: string; readonly account: ConfiguredAccount }[];
  /** Looks up the key of an account. @throws GatewayError when there is none */
  open(account: ConfiguredAccount, signal: AbortSignal): Promise<ProviderAccount>;
}

export function createQuotas({ providers, accounts, open }: QuotaOptions): ModelQuotas {
  async function sourceOf(
    contribution: Contribution<ModelProvider>,
    account: ConfiguredAccount,
    signal: AbortSignal,
  ): Promise<QuotaSource | undefined> {
    if (!contribution.value.quota || !hasKey(account)) return undefined;
    let full: ProviderAccount;
    try {
      full = await open(account, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (isGatewayError(error)) return undefined; // no usable credential
      throw error;
    }
    const source = await providers.call(contribution, async () => contribution.value.quota?.(full));
    if (!source) return undefined;
    const { provider, displayName } = source;
    return { provider, displayName, ask: (until) => providers.call(contribution, () => source.ask(until)) };
  }

  return {
    async sources(signal) {
      const found = new Map<string, QuotaSource>();
      for (const { api, account } of accounts()) {
        const contribution = providers.get(api);
        const source = contribution && (await sourceOf(contribution, account, signal));
        if (source && !found.has(source.provider)) found.set(source.provider, source);
      }
      return [...found.values()];
    },
  };
}
