/** What conversations used: tokens, money, messages, time. Spec: protocol/methods-usage.md §3-4. */
import { Type } from "../schema.ts";

const text = Type.Optional(Type.String());
const number = Type.Optional(Type.Integer());

/** Tokens and US dollars. `missingCostEntries` counts answers whose price is unknown. */
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
  missingCostEntries: Type.Number(),
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
