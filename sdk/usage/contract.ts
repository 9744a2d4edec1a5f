/**
 * Usage of conversations (tokens, cost, messages, time) and quotas of model providers. Spec: protocol/methods-usage.md.
 */
import { defineContract } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());
const number = Type.Optional(Type.Integer());
const Day = Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}$" });

/** Known tokens and costs in US dollars. */
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
  missingCostEntries: Type.Number({ description: "answers without a known price" }),
  missingUsageEntries: Type.Optional(
    Type.Number({ description: "answers whose provider did not report usage; absent: none" }),
  ),
});

const MessageCounts = Type.Object({
  total: Type.Integer(),
  user: Type.Integer(),
  assistant: Type.Integer(),
  toolCalls: Type.Integer(),
  toolResults: Type.Integer(),
  errors: Type.Integer(),
});
const ToolUsage = Type.Object({
  totalCalls: Type.Integer(),
  uniqueTools: Type.Integer(),
  tools: Type.Array(Type.Object({ name: Type.String(), count: Type.Integer() })),
});
const orUnknown = (description: string) => Type.Union([Type.Number(), Type.Null()], { description });
/** Usage of the answers that called a tool; an answer that called two tools counts for both. Choice. */
const ByTool = Type.Array(
  Type.Object({
    name: Type.String(),
    calls: Type.Integer(),
    answers: Type.Integer(),
    tokens: orUnknown("null: not reported by any provider"),
    cost: orUnknown("US dollars; null: no known price"),
    missingCostEntries: Type.Integer(),
    missingUsageEntries: Type.Integer(),
  }),
);
/** Milliseconds from the user's message to the answer. */
const Latency = Type.Object({
  count: Type.Integer(),
  avgMs: Type.Number(),
  p95Ms: Type.Number(),
  minMs: Type.Number(),
  maxMs: Type.Number(),
});
/** First field of every daily record. */
const Dated = { date: Type.String({ description: "YYYY-MM-DD, in the time zone selected by `mode`" }) };
const DailyLatency = Type.Array(Type.Object({ ...Dated, ...Latency.properties }));
const DailyModel = Type.Array(
  Type.Object({
    ...Dated,
    provider: text,
    model: text,
    tokens: Type.Number(),
    cost: Type.Number(),
    count: Type.Integer(),
  }),
);
const ByModel = Type.Array(Type.Object({ provider: text, model: text, count: Type.Integer(), totals: UsageTotals }));

/** Usage of one session. */
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

/** Usage per session and in total. */
export const sessionsUsage = defineContract("sessions.usage", {
  report: {
    name: "sessions.usage",
    summary: "Get tokens and cost by session, with totals by model, agent, channel and day",
    scope: "operator.read",
    params: Strict({
      key: Type.Optional(NonEmpty),
      agentId: Type.Optional(Type.String({ minLength: 1, description: "only sessions of this agent; default: all" })),
      agentScope: Type.Optional(Type.Literal("all", { description: "sessions of all agents, which is the default" })),
      startDate: Type.Optional(Day),
      endDate: Type.Optional(Day),
      days: Type.Optional(
        Type.Integer({ minimum: 1, description: "days up to and including today, if no dates are given; default 30" }),
      ),
      mode: Type.Optional(Type.Enum(["utc", "gateway", "specific"])),
      utcOffset: Type.Optional(Type.String({ pattern: "^UTC[+-]\\d{1,2}(?::[0-5]\\d)?$" })),
      timeZone: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 64,
          description: "IANA name, for mode `specific`; takes precedence over `utcOffset`",
        }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, description: "number of sessions; default 50" })),
      top: Type.Optional(
        Type.Integer({
          minimum: 0,
          description: "return only so many of them, highest cost first; totals and aggregates still count all",
        }),
      ),
      includeContextWeight: Type.Optional(Type.Boolean()),
    }),
    result: Type.Object({
      updatedAt: Type.Integer(),
      startDate: Type.String(),
      endDate: Type.String(),
      sessions: Type.Array(
        Type.Object({
          key: Type.String(),
          label: text,
          sessionId: text,
          updatedAt: Type.Integer(),
          agentId: text,
          channel: text,
          chatType: text,
          origin: Type.Optional(Type.Object({})),
          modelOverride: text,
          providerOverride: text,
          modelProvider: text,
          model: text,
          usage: Type.Union([SessionUsage, Type.Null()]),
          contextWeight: Type.Optional(Type.Unknown({ description: "last system prompt report, or null" })),
        }),
      ),
      totals: UsageTotals,
      aggregates: Type.Object({
        messages: MessageCounts,
        tools: ToolUsage,
        byModel: ByModel,
        byProvider: Type.Array(Type.Object({ provider: text, count: Type.Integer(), totals: UsageTotals })),
        byAgent: Type.Array(Type.Object({ agentId: Type.String(), totals: UsageTotals })),
        byChannel: Type.Array(Type.Object({ channel: Type.String(), totals: UsageTotals })),
        byTool: Type.Optional(ByTool),
        latency: Type.Optional(Latency),
        dailyLatency: DailyLatency,
        modelDaily: DailyModel,
        daily: Type.Array(
          Type.Object({
            ...Dated,
            tokens: Type.Number(),
            cost: Type.Number(),
            messages: Type.Integer(),
            toolCalls: Type.Integer(),
            errors: Type.Integer(),
            missingCostEntries: number,
            missingUsageEntries: number,
          }),
        ),
      }),
    }),
  },
  timeseries: {
    summary: "Get the growth of tokens and cost of a session over time",
    scope: "operator.read",
    advertised: false,
    // Lenient: unknown params are ignored. Spec: methods-usage.md.
    params: Type.Object({ key: NonEmpty }),
    result: Type.Object({
      sessionId: text,
      points: Type.Array(
        Type.Object({
          timestamp: Type.Integer(),
          input: Type.Number(),
          output: Type.Number(),
          cacheRead: Type.Number(),
          cacheWrite: Type.Number(),
          totalTokens: Type.Number(),
          cost: Type.Number(),
          cumulativeTokens: Type.Number(),
          cumulativeCost: Type.Number(),
        }),
      ),
    }),
  },
  logs: {
    summary: "Get the last messages of a session with their tokens and cost",
    scope: "operator.read",
    advertised: false,
    params: Type.Object({
      key: NonEmpty,
      limit: Type.Optional(Type.Number({ description: "messages; default 200, at most 1000" })),
    }),
    result: Type.Object({
      logs: Type.Array(
        Type.Object({
          timestamp: Type.Integer({ description: "epoch ms" }),
          role: Type.Enum(["user", "assistant", "tool", "toolResult"]),
          content: Type.String(),
          tokens: Type.Optional(Type.Number()),
          cost: Type.Optional(Type.Number()),
        }),
      ),
    }),
  },
});

/** Any JSON; an invalid value is ignored. Spec: §3 "Invalid params never fail". */
const anything = Type.Optional(Type.Unknown());

/** Quotas of model providers, and daily cost. */
export const usage = defineContract("usage", {
  status: {
    summary: "Get how much of the quotas of model subscriptions is used",
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
    summary: "Get tokens and cost of the default agent by day",
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
      days: Type.Integer({ description: "number of days in the range plus one" }),
      daily: Type.Array(Type.Object({ ...Dated, ...UsageTotals.properties })),
      totals: UsageTotals,
    }),
  },
});
