/** Totals, aggregates and days of a usage report, computed from the sums of transcripts. Pure. Spec: protocol/methods-usage.md §4. */
import type { ResultOf, Static } from "@svc/sdk";
import type { sessionsUsage, SessionUsage, ToolSum, UsageSum, UsageTotals, UsedTranscript } from "@svc/sdk/usage";

type Totals = Static<typeof UsageTotals>;
type Usage = Static<typeof SessionUsage>;
type Counts = NonNullable<Usage["messageCounts"]>;
type Latency = NonNullable<Usage["latency"]>;
type Aggregates = ResultOf<typeof sessionsUsage.report>["aggregates"];

export function totalsOf(sums: readonly UsageSum[]): Totals {
  const add = (value: (sum: UsageSum) => number) => sums.reduce((total, sum) => total + value(sum), 0);
  const uncounted = add((sum) => sum.uncounted);
  return {
    input: add((sum) => sum.input),
    output: add((sum) => sum.output),
    cacheRead: add((sum) => sum.cacheRead),
    cacheWrite: add((sum) => sum.cacheWrite),
    totalTokens: add((sum) => sum.totalTokens),
    totalCost: add((sum) => sum.totalCost),
    inputCost: add((sum) => sum.inputCost),
    outputCost: add((sum) => sum.outputCost),
    cacheReadCost: add((sum) => sum.cacheReadCost),
    cacheWriteCost: add((sum) => sum.cacheWriteCost),
    missingCostEntries: add((sum) => sum.unpriced),
    ...(uncounted > 0 && { missingUsageEntries: uncounted }),
  };
}

/** `undefined` when the range has no messages. */
export function usageOf(sums: readonly UsageSum[], tools: readonly ToolSum[]): Usage | undefined {
  if (sums.length === 0) return undefined;
  const firstActivity = Math.min(...sums.map(({ firstAt }) => firstAt));
  const lastActivity = Math.max(...sums.map(({ lastAt }) => lastAt));
  const days = byDay(sums);
  const latency = latencyOf(sums);
  return {
    ...totalsOf(sums),
    firstActivity,
    lastActivity,
    durationMs: lastActivity - firstActivity,
    activityDates: days.map(([date]) => date),
    dailyBreakdown: days.map(([date, some]) => ({ date, ...tokensAndCost(some) })),
    dailyMessageCounts: days.map(([date, some]) => ({ date, ...countsOf(some) })),
    dailyLatency: dailyLatency(sums),
    dailyModelUsage: modelDaily(sums),
    messageCounts: countsOf(sums),
    toolUsage: toolUsage(tools),
    modelUsage: byModel(sums),
    ...(latency && { latency }),
  };
}

/** Totals by model, provider, agent, channel, tool and day; highest cost first, days in order. */
export function aggregatesOf(rows: readonly UsedTranscript[]): Aggregates {
  const sums = rows.flatMap((row) => row.sums);
  const latency = latencyOf(sums);
  return {
    messages: countsOf(sums),
    tools: toolUsage(rows.flatMap((row) => row.tools)),
    byModel: byModel(sums),
    byProvider: groups(answered(sums), ({ provider }) => provider ?? "")
      .map(([provider, some]) => ({ ...named({ provider }), count: answersOf(some), totals: totalsOf(some) }))
      .toSorted(dearest),
    byAgent: owners(rows, ({ row }) => row.agentId).map(([agentId, totals]) => ({ agentId, totals })),
    byChannel: owners(rows, ({ row }) => row.channel).map(([channel, totals]) => ({ channel, totals })),
    byTool: byTool(rows.flatMap((row) => row.tools)),
    ...(latency && { latency }),
    dailyLatency: dailyLatency(sums),
    modelDaily: modelDaily(sums),
    daily: byDay(sums).map(([date, some]) => {
      const { total, toolCalls, errors } = countsOf(some);
      return { date, ...tokensAndCost(some), messages: total, toolCalls, errors, ...missingOf(some) };
    }),
  };
}

/** Choice: `total` counts every message, including tool results. */
function countsOf(sums: readonly UsageSum[]): Counts {
  const of = (some: readonly UsageSum[]) => some.reduce((total, { messages }) => total + messages, 0);
  const ofRole = (role: string) => of(sums.filter((sum) => sum.role === role));
  return {
    total: of(sums),
    user: ofRole("user"),
    assistant: ofRole("assistant"),
    toolCalls: sums.reduce((total, { toolCalls }) => total + toolCalls, 0),
    toolResults: ofRole("toolResult"),
    errors: sums.reduce((total, { errors }) => total + errors, 0),
  };
}

function toolUsage(tools: readonly ToolSum[]): NonNullable<Usage["toolUsage"]> {
  const list = groups(tools, ({ name }) => name)
    .map(([name, some]) => ({ name, count: some.reduce((total, { count }) => total + count, 0) }))
    .toSorted((a, b) => b.count - a.count || a.name.localeCompare(b.name, "en"));
  return { totalCalls: list.reduce((total, { count }) => total + count, 0), uniqueTools: list.length, tools: list };
}

/** Tokens and cost are null where no provider reported any; the two missing counts mark a partial sum. */
function byTool(tools: readonly ToolSum[]): NonNullable<Aggregates["byTool"]> {
  return groups(tools, ({ name }) => name)
    .map(([name, some]) => {
      const add = (value: (sum: ToolSum) => number) => some.reduce((total, sum) => total + value(sum), 0);
      const [messages, answers] = [add((sum) => sum.messages), add((sum) => sum.answers)];
      return {
        name,
        calls: add((sum) => sum.count),
        answers: messages,
        tokens: answers === 0 ? null : add((sum) => sum.totalTokens),
        cost: some.every(({ cost }) => cost === null) ? null : add(({ cost }) => cost ?? 0),
        missingCostEntries: add((sum) => sum.unpriced),
        missingUsageEntries: messages - answers,
      };
    })
    .toSorted((a, b) => (b.cost ?? -1) - (a.cost ?? -1) || (b.tokens ?? -1) - (a.tokens ?? -1));
}

function missingOf(sums: readonly UsageSum[]): { missingCostEntries?: number; missingUsageEntries?: number } {
  const { missingCostEntries, missingUsageEntries = 0 } = totalsOf(sums);
  return {
    ...(missingCostEntries > 0 && { missingCostEntries }),
    ...(missingUsageEntries > 0 && { missingUsageEntries }),
  };
}

function byModel(sums: readonly UsageSum[]): NonNullable<Usage["modelUsage"]> {
  return groups(answered(sums), modelKey)
    .map(([, some]) => ({ ...modelOf(some), count: answersOf(some), totals: totalsOf(some) }))
    .toSorted(dearest);
}

function modelDaily(sums: readonly UsageSum[]): NonNullable<Usage["dailyModelUsage"]> {
  return byDay(answered(sums)).flatMap(([date, some]) =>
    groups(some, modelKey)
      .map(([, same]) => ({ date, ...modelOf(same), ...tokensAndCost(same), count: answersOf(same) }))
      .toSorted((a, b) => b.cost - a.cost),
  );
}

function dailyLatency(sums: readonly UsageSum[]): NonNullable<Usage["dailyLatency"]> {
  return byDay(sums).flatMap(([date, some]) => {
    const latency = latencyOf(some);
    return latency ? [{ date, ...latency }] : [];
  });
}

/** The 95th percentile by nearest rank. */
function latencyOf(sums: readonly UsageSum[]): Latency | undefined {
  // The statement builds this JSON.
  const all = sums.flatMap(({ latencies }) => JSON.parse(latencies) as number[]).toSorted((a, b) => a - b);
  const [minMs] = all;
  const maxMs = all.at(-1);
  if (minMs === undefined || maxMs === undefined) return undefined;
  return {
    count: all.length,
    avgMs: all.reduce((total, ms) => total + ms, 0) / all.length,
    p95Ms: all[Math.ceil(all.length * 0.95) - 1] ?? maxMs,
    minMs,
    maxMs,
  };
}

function owners(
  rows: readonly UsedTranscript[],
  ownerOf: (row: UsedTranscript) => string | undefined,
): (readonly [string, Totals])[] {
  return groups(
    rows.filter((row) => row.sums.length > 0),
    (row) => ownerOf(row) ?? "",
  )
    .filter(([owner]) => owner !== "")
    .map(([owner, some]) => [owner, totalsOf(some.flatMap(({ sums }) => sums))] as const)
    .toSorted(([, a], [, b]) => b.totalCost - a.totalCost);
}

function tokensAndCost(sums: readonly UsageSum[]): { tokens: number; cost: number } {
  const { totalTokens, totalCost } = totalsOf(sums);
  return { tokens: totalTokens, cost: totalCost };
}

function dearest(a: { readonly totals: Totals }, b: { readonly totals: Totals }): number {
  return b.totals.totalCost - a.totals.totalCost || b.totals.totalTokens - a.totals.totalTokens;
}

export function byDay(sums: readonly UsageSum[]): [date: string, sums: UsageSum[]][] {
  return groups(sums, ({ day }) => day).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** The sums that contain model answers. */
export function answered(sums: readonly UsageSum[]): UsageSum[] {
  return sums.filter(({ answers, uncounted }) => answers + uncounted > 0);
}

/** Includes answers without reported usage, which `missingUsageEntries` of the totals counts. */
function answersOf(sums: readonly UsageSum[]): number {
  return sums.reduce((total, { answers, uncounted }) => total + answers + uncounted, 0);
}

function modelKey({ provider, model }: UsageSum): string {
  return JSON.stringify([provider, model]);
}

function modelOf([first]: readonly UsageSum[]): { provider?: string; model?: string } {
  return named({ provider: first?.provider ?? "", model: first?.model ?? "" });
}

function named<F extends Record<string, string>>(fields: F): Partial<F> {
  const present = Object.entries(fields).filter(([, value]) => value !== "");
  return Object.fromEntries(present) as Partial<F>; // a subset of `fields`
}

function groups<T>(items: readonly T[], keyOf: (item: T) => string): [key: string, items: T[]][] {
  const found = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = found.get(key);
    if (group) group.push(item);
    else found.set(key, [item]);
  }
  return [...found];
}
