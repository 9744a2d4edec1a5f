/** Usage of models: what conversations recorded, and quotas of accounts. */
import type { ResultOf } from "../contract.ts";
import type { sessionsUsage } from "./contract.ts";
import { defineService } from "../service.ts";

/** A period, and where its days begin. */
export interface UsagePeriod {
  /** epoch ms, both included */
  readonly from: number;
  readonly to: number;
  /** Offset from UTC, or the IANA name of a zone. */
  readonly zone: { readonly offsetMs: number } | string;
}

/** Sums over the messages of one transcript, day, role and model. */
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
  /** US dollars, as all costs. */
  readonly totalCost: number;
  readonly inputCost: number;
  readonly outputCost: number;
  readonly cacheReadCost: number;
  readonly cacheWriteCost: number;
  /** Of `answers`, those without a price. */
  readonly unpriced: number;
  /** Answers of a model whose provider did not report usage. */
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
  /** Answers that called it. */
  readonly messages: number;
  /** Of `messages`, those whose provider reported usage. */
  readonly answers: number;
  readonly totalTokens: number;
  /** US dollars; null: no price is known. */
  readonly cost: number | null;
  readonly unpriced: number;
}

/** A session, or a retired transcript, with its sums in a period. */
export interface UsedTranscript {
  /** Its row of the report `sessions.usage`, but for what it used. */
  readonly row: Omit<ResultOf<typeof sessionsUsage.report>["sessions"][number], "usage">;
  readonly sessionId: string;
  /** Where it is stored, for people. */
  readonly location: string;
  readonly sums: readonly UsageSum[];
  readonly tools: readonly ToolSum[];
}

/** Which transcripts a report is about. */
export interface UsageSelection {
  /** Only this session, or the retired transcript that a report listed under this key. */
  readonly key?: string | undefined;
  readonly limit: number;
  /** Whether `row` has the last system prompt report. */
  readonly includeContextWeight: boolean;
}

/** What conversations recorded about their usage. A session that was reset or deleted counts as long as its transcript is kept. */
export interface UsageRecords {
  /** Transcripts used since the period began, newest first. @throws GatewayError `INVALID_REQUEST` for a malformed key */
  transcripts(period: UsagePeriod, selection: UsageSelection): Promise<readonly UsedTranscript[]>;
  ofAgent(agentId: string, period: UsagePeriod): Promise<readonly UsageSum[]>;
  /** How tokens and cost of a session grew, in at most `maxPoints`; `undefined`: no such session. */
  timeseries(key: string, maxPoints: number): Promise<ResultOf<typeof sessionsUsage.timeseries> | undefined>;
  /** The newest messages of a session, oldest first; none of a missing session. @param maxChars of one text */
  logs(key: string, limit: number, maxChars: number): Promise<ResultOf<typeof sessionsUsage.logs>>;
}

/** What conversations recorded about their usage. Provided by the plugin `sessions`. */
export const UsageRecords = defineService<UsageRecords>()("usage.records", "1.0.0");

/** Used part of what a subscription allows. Spec: protocol/methods-usage.md §1. */
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
