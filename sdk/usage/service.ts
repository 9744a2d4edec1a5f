/** Model usage recorded by conversations, and quotas of accounts. */
import type { ResultOf } from "../contract.ts";
import type { sessionsUsage } from "./contract.ts";
import { defineService } from "../service.ts";

/** A period, and the zone that defines its days. */
export interface UsagePeriod {
  /** epoch ms, both inclusive */
  readonly from: number;
  readonly to: number;
  /** Offset from UTC, or an IANA zone name. */
  readonly zone: { readonly offsetMs: number } | string;
}

/** Sums over the messages of one transcript, by day, role and model. */
export interface UsageSum {
  readonly sessionId: string;
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly role: string;
  readonly provider: string | null;
  readonly model: string | null;
  readonly messages: number;
  /** Messages whose provider reported usage. */
  readonly answers: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly totalTokens: number;
  /** US dollars, like all costs. */
  readonly totalCost: number;
  readonly inputCost: number;
  readonly outputCost: number;
  readonly cacheReadCost: number;
  readonly cacheWriteCost: number;
  /** Number of `answers` without a price. */
  readonly unpriced: number;
  /** Answers whose provider did not report usage. */
  readonly uncounted: number;
  readonly toolCalls: number;
  readonly errors: number;
  /** epoch ms */
  readonly firstAt: number;
  readonly lastAt: number;
  /** JSON array of milliseconds. */
  readonly latencies: string;
}

/** Sums over the calls of one tool in one transcript. */
export interface ToolSum {
  readonly sessionId: string;
  readonly name: string;
  readonly count: number;
  /** Answers that called the tool. */
  readonly messages: number;
  /** Number of `messages` whose provider reported usage. */
  readonly answers: number;
  readonly totalTokens: number;
  /** US dollars; null: no known price. */
  readonly cost: number | null;
  readonly unpriced: number;
}

/** A session or retired transcript with its sums in a period. */
export interface UsedTranscript {
  /** Its row in the report `sessions.usage`, without the usage. */
  readonly row: Omit<ResultOf<typeof sessionsUsage.report>["sessions"][number], "usage">;
  readonly sessionId: string;
  /** Storage location, shown to people. */
  readonly location: string;
  readonly sums: readonly UsageSum[];
  readonly tools: readonly ToolSum[];
}

/** Selects the transcripts of a report. */
export interface UsageSelection {
  /** Only this session, or the retired transcript listed under this key. */
  readonly key?: string | undefined;
  /** Only sessions of this agent; without `key`. Default: all. */
  readonly agentId?: string | undefined;
  readonly limit: number;
  /** Whether `row` includes the last system prompt report. */
  readonly includeContextWeight: boolean;
}

/** Usage recorded by conversations. A session that was reset or deleted counts as long as its transcript is stored. */
export interface UsageRecords {
  /**
   * Transcripts used since the period began, newest first.
   * @throws GatewayError `INVALID_REQUEST` for a malformed key
   */
  transcripts(period: UsagePeriod, selection: UsageSelection): Promise<readonly UsedTranscript[]>;
  ofAgent(agentId: string, period: UsagePeriod): Promise<readonly UsageSum[]>;
  /** Growth of tokens and cost of a session over time, in at most `maxPoints` points; `undefined`: unknown session. */
  timeseries(key: string, maxPoints: number): Promise<ResultOf<typeof sessionsUsage.timeseries> | undefined>;
  /**
   * The newest messages of a session, oldest first; empty for an unknown session.
   * @param maxChars characters per text
   */
  logs(key: string, limit: number, maxChars: number): Promise<ResultOf<typeof sessionsUsage.logs>>;
}

/** Token of the service. */
export const UsageRecords = defineService<UsageRecords>()("usage.records", "1.0.0", {
  summary: "Usage recorded by conversations. Provided by the plugin `sessions`; used by the plugin `usage`.",
});

/** Used share of a subscription's quota. Spec: protocol/methods-usage.md §1. */
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

/** Source for the quota of one account. */
export interface QuotaSource {
  /** Name as in protocol/methods-usage.md §1, e.g. `zai`. */
  readonly provider: string;
  /** Shown to people. */
  readonly displayName: string;
  /** @throws Error with a message for people if the quota is unavailable; the reason of the signal on abort */
  ask(signal: AbortSignal): Promise<ProviderQuota>;
}

/** Quotas of the configured accounts. */
export interface ModelQuotas {
  /**
   * Sources of all accounts that have a key and whose provider supports it, the first account of each provider; sends
   * no request.
   */
  sources(signal: AbortSignal): Promise<readonly QuotaSource[]>;
}

/** Token of the service. */
export const ModelQuotas = defineService<ModelQuotas>()("model.quotas", "1.0.0", {
  summary: "Quotas of model providers. Provided by the plugin `models`; used by the plugin `usage`.",
});
