/** `sessions.usage`, `.usage.timeseries` and `.usage.logs`. Spec: protocol/methods-usage.md §4-6. */
import { invalidRequest, notFound, type ParamsOf, type ResultOf } from "@svc/sdk";
import type { sessionsUsage, UsageRecords, UsedTranscript } from "@svc/sdk/usage";
import { usageRange } from "./range.ts";
import { aggregatesOf, totalsOf, usageOf } from "./summary.ts";

const DEFAULT_ROWS = 50;
const MAX_POINTS = 200;
const DEFAULT_LOGS = 200;
const MAX_LOGS = 1000;
const LOG_CHARS = 2000;

/** One row for each session or retired transcript used in the range, newest first, and their totals. */
export async function reportUsage(
  records: UsageRecords,
  params: ParamsOf<typeof sessionsUsage.report>,
  { now, timeZone }: { readonly now: number; readonly timeZone: string },
): Promise<ResultOf<typeof sessionsUsage.report>> {
  const { key, agentId, agentScope, limit = DEFAULT_ROWS, includeContextWeight = false } = params;
  if (agentId !== undefined && agentScope !== undefined) invalidRequest("give either agentId or agentScope");
  const range = usageRange(params, now, timeZone);
  const used = await records.transcripts(range, {
    key,
    agentId: agentId?.trim().toLowerCase(),
    limit,
    includeContextWeight,
  });
  const shown = params.top === undefined ? used : dearest(used).slice(0, params.top);
  return {
    updatedAt: now,
    startDate: range.startDate,
    endDate: range.endDate,
    sessions: shown.map(({ row, sessionId, location, sums, tools }) => {
      const usage = usageOf(sums, tools);
      return { ...row, usage: usage ? { ...usage, sessionId, sessionFile: location } : null };
    }),
    totals: totalsOf(used.flatMap(({ sums }) => sums)),
    aggregates: aggregatesOf(used),
  };
}

/** Highest cost first, then most tokens; sessions without any are left out. */
function dearest(used: readonly UsedTranscript[]): UsedTranscript[] {
  return used
    .map((one) => ({ one, totals: totalsOf(one.sums) }))
    .filter(({ totals }) => totals.totalTokens > 0 || totals.totalCost > 0)
    .toSorted((a, b) => b.totals.totalCost - a.totals.totalCost || b.totals.totalTokens - a.totals.totalTokens)
    .map(({ one }) => one);
}

/** @throws GatewayError `NOT_FOUND` for a session without a transcript */
export async function usageTimeseries(
  records: UsageRecords,
  { key }: ParamsOf<typeof sessionsUsage.timeseries>,
): Promise<ResultOf<typeof sessionsUsage.timeseries>> {
  return (await records.timeseries(key, MAX_POINTS)) ?? notFound(`no session "${key}"; see sessions.list`);
}

/** The newest messages, oldest first; none for a missing session. Spec: §6. */
export function usageLogs(
  records: UsageRecords,
  { key, limit = DEFAULT_LOGS }: ParamsOf<typeof sessionsUsage.logs>,
): Promise<ResultOf<typeof sessionsUsage.logs>> {
  return records.logs(key, Math.min(Math.max(1, Math.trunc(limit)), MAX_LOGS), LOG_CHARS);
}
