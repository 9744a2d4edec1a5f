/** What was used, for whoever reports it. */
import type { Static } from "../schema.ts";
import type { UsageTotals } from "./contract.ts";
import { defineService } from "../service.ts";

/** Tokens and money of one day. */
export interface UsageDay extends Static<typeof UsageTotals> {
  /** `YYYY-MM-DD`, local time of this machine. */
  readonly date: string;
}

/** What answers of models have used. */
export interface UsageRecords {
  /** Days with use, in order; a session that was reset or deleted counts as long as its transcript is kept. @param range epoch ms, both included */
  daily(agentId: string, range: { readonly from: number; readonly to: number }): Promise<readonly UsageDay[]>;
}

/** What was used. Provided by the plugin `sessions`. */
export const UsageRecords = defineService<UsageRecords>()("usage.records", "1.0.0");

/** How much of what a subscription allows is used up. Spec: protocol/methods-usage.md §1. */
export interface ProviderQuota {
  readonly windows: readonly {
    readonly label: string;
    /** 0 to 100. */
    readonly usedPercent: number;
    /** epoch ms */
    readonly resetAt?: number;
  }[];
  readonly plan?: string;
}

/** Where the quota of one account can be asked. */
export interface QuotaSource {
  /** As protocol/methods-usage.md §1 names it, e.g. `zai`. */
  readonly provider: string;
  /** For people. */
  readonly displayName: string;
  /** @throws Error with a message for people when it cannot be had; the signal's reason on abort */
  ask(signal: AbortSignal): Promise<ProviderQuota>;
}

/** Quotas of the configured accounts. */
export interface ModelQuotas {
  /** Of every account with a key whose provider can be asked, the first of each provider; nothing is asked yet. */
  sources(signal: AbortSignal): Promise<readonly QuotaSource[]>;
}

/** Quotas of model providers. Provided by the plugin `models`. */
export const ModelQuotas = defineService<ModelQuotas>()("model.quotas", "1.0.0");
