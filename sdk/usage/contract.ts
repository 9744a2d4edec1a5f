/** What conversations used: tokens, money, messages, time. Spec: protocol/methods-usage.md §1-4. */
import { defineContract } from "../contract.ts";
import { Type } from "../schema.ts";

const text = Type.Optional(Type.String());
const number = Type.Optional(Type.Integer());

/** Tokens and US dollars that are known. */
export const UsageTotals = Type.Object({
  input: Type.Number(),
  output: Type.Number(),
  cacheRead: Type.Number(),
  cacheWrite: Type.Number(),
  totalTokens: Type.Number(),
  totalCost: Type.Number(),
  inputCost: Type.Number(),
  outputCost: Type.Number(),
  cacheReadCost: Type.Number(),
  cacheWriteCost: Type.Number(),
  missingCostEntries: Type.Number({ description: "answers whose price is unknown" }),
  missingUsageEntries: Type.Optional(
    Type.Number({ description: "answers whose provider did not say what they used; absent: none" }),
  ),
});

export const MessageCounts = Type.Object({
  total: Type.Integer(),
  user: Type.Integer(),
  assistant: Type.Integer(),
  toolCalls: Type.Integer(),
  toolResults: Type.Integer(),
  errors: Type.Integer(),
});
export const ToolUsage = Type.Object({
  totalCalls: Type.Integer(),
  uniqueTools: Type.Integer(),
  tools: Type.Array(Type.Object({ name: Type.String(), count: Type.Integer() })),
});
const orUnknown = (description: string) => Type.Union([Type.Number(), Type.Null()], { description });
/** What the answers used that called a tool; one that called two counts for both. Choice. */
export const ByTool = Type.Array(
  Type.Object({
    name: Type.String(),
    calls: Type.Integer(),
    answers: Type.Integer(),
    tokens: orUnknown("null: no provider said"),
    cost: orUnknown("US dollars; null: no price is known"),
    missingCostEntries: Type.Integer(),
    missingUsageEntries: Type.Integer(),
  }),
);
/** Milliseconds from a message of the user to the answer. */
export const Latency = Type.Object({
  count: Type.Integer(),
  avgMs: Type.Number(),
  p95Ms: Type.Number(),
  minMs: Type.Number(),
  maxMs: Type.Number(),
});
/** First member of everything by day. */
export const Dated = { date: Type.String({ description: "YYYY-MM-DD in the time zone of the mode" }) };
export const DailyLatency = Type.Array(Type.Object({ ...Dated, ...Latency.properties }));
export const DailyModel = Type.Array(
  Type.Object({
    ...Dated,
    provider: text,
    model: text,
    tokens: Type.Number(),
    cost: Type.Number(),
    count: Type.Integer(),
  }),
);
export const ByModel = Type.Array(
  Type.Object({ provider: text, model: text, count: Type.Integer(), totals: UsageTotals }),
);

/** What one session used. */
export const SessionUsage = Type.Object({
  ...UsageTotals.properties,
  sessionId: text,
  sessionFile: text,
  firstActivity: number,
  lastActivity: number,
  durationMs: number,
  activityDates: Type.Optional(Type.Array(Type.String())),
  dailyBreakdown: Type.Optional(Type.Array(Type.Object({ ...Dated, tokens: Type.Number(), cost: Type.Number() }))),
  dailyMessageCounts: Type.Optional(Type.Array(Type.Object({ ...Dated, ...MessageCounts.properties }))),
  dailyLatency: Type.Optional(DailyLatency),
  dailyModelUsage: Type.Optional(DailyModel),
  messageCounts: Type.Optional(MessageCounts),
  toolUsage: Type.Optional(ToolUsage),
  modelUsage: Type.Optional(ByModel),
  latency: Type.Optional(Latency),
});

/** Any JSON: what cannot be used is ignored. Spec: §3 "Invalid params never fail". */
const anything = Type.Optional(Type.Unknown());

/** Quotas and cost. What conversations used stands in the namespace `sessions`. */
export const usage = defineContract("usage", {
  status: {
    summary: "How much of what model subscriptions allow is used up",
    scope: "operator.read",
    params: Type.Object({}),
    result: Type.Object({
      updatedAt: Type.Integer({ description: "epoch ms" }),
      providers: Type.Array(
        Type.Object({
          provider: Type.String(),
          displayName: Type.String(),
          windows: Type.Array(
            Type.Object({
              label: Type.String(),
              usedPercent: Type.Number({ minimum: 0, maximum: 100 }),
              resetAt: Type.Optional(Type.Integer({ description: "epoch ms" })),
            }),
          ),
          plan: text,
          error: text,
        }),
      ),
    }),
  },
  cost: {
    summary: "Tokens and cost of the default agent, day by day",
    scope: "operator.read",
    params: Type.Object({
      startDate: anything,
      endDate: anything,
      days: anything,
      mode: anything,
      utcOffset: anything,
    }),
    result: Type.Object({
      updatedAt: Type.Integer({ description: "epoch ms" }),
      days: Type.Integer({ description: "one more than the range has" }),
      daily: Type.Array(Type.Object({ ...Dated, ...UsageTotals.properties })),
      totals: UsageTotals,
    }),
  },
});
