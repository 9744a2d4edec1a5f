/** The output of `svc usage`. Pure. An unknown value is printed as unknown, never as zero. */
import type { ResultOf } from "@svc/sdk";
import { cut, table, visible } from "@svc/sdk/cli";
import type { sessionsUsage } from "@svc/sdk/usage";

type Report = ResultOf<typeof sessionsUsage.report>;
type Totals = Report["totals"];

export const GROUPINGS = ["day", "model", "provider", "agent", "channel", "tool", "session"] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** One line of the table; `null` is unknown. */
export interface Row {
  readonly name: string;
  /** Number of model answers, where known. */
  readonly answers?: number;
  readonly tokens: number | null;
  /** US dollars */
  readonly cost: number | null;
  /** Number of answers with unknown tokens, and with known tokens but no price; neither sum includes them. */
  readonly missingUsage: number;
  readonly missingCost: number;
}

const MAX_NAME = 60;
/** Name of the row for usage without an agent or channel. */
const NONE = "(none)";

export function usageRows(report: Report, by: Grouping): Row[] {
  const { aggregates, totals } = report;
  switch (by) {
    case "day":
      return aggregates.daily.map(({ date, tokens, cost, missingCostEntries = 0, missingUsageEntries = 0 }) =>
        row(date, { tokens, cost, missingCost: missingCostEntries, missingUsage: missingUsageEntries }),
      );
    case "model":
      return aggregates.byModel.map(({ provider, model, count, totals: used }) =>
        rowOf([provider ?? NONE, model ?? NONE].join("/"), used, count),
      );
    case "provider":
      return aggregates.byProvider.map(({ provider, count, totals: used }) => rowOf(provider ?? NONE, used, count));
    case "agent":
      return withRest(
        aggregates.byAgent.map(({ agentId, totals: used }) => [agentId, used]),
        totals,
      );
    case "channel":
      return withRest(
        aggregates.byChannel.map(({ channel, totals: used }) => [channel, used]),
        totals,
      );
    case "tool":
      return (aggregates.byTool ?? []).map(
        ({ name, answers, tokens, cost, missingCostEntries, missingUsageEntries }) => ({
          name,
          answers,
          tokens,
          cost,
          missingCost: missingCostEntries,
          missingUsage: missingUsageEntries,
        }),
      );
    case "session":
      return report.sessions.flatMap(({ key, usage }) => (usage ? [rowOf(key, usage)] : []));
  }
}

export function totalRow({ totals, aggregates }: Report): Row {
  return rowOf(
    "total",
    totals,
    aggregates.byModel.reduce((sum, { count }) => sum + count, 0),
  );
}

/** Rows as a table, followed by the number of answers with unknown usage or price. */
export function usageLines(rows: readonly Row[], by: Grouping, total: Row): string[] {
  if (rows.length === 0) return ["No usage in these days."];
  const shown = by === "tool" ? rows : [...rows, total]; // answers that called two tools are in two rows
  const cells = shown.map(({ name, answers, tokens, cost }) => [
    visible(cut(name, MAX_NAME)),
    answers === undefined ? "" : String(answers),
    tokens === null ? "unknown" : String(tokens),
    cost === null ? "unknown" : `$${cost.toFixed(4)}`,
  ]);
  const { missingUsage, missingCost } = total;
  return [
    ...table([[by, "answers", "tokens", "cost"], ...cells]),
    ...(missingUsage > 0 ? [`${missingUsage} answers have unknown usage: their provider reported none.`] : []),
    ...(missingCost > 0 ? [`${missingCost} answers have no known price: set the cost of their model.`] : []),
  ];
}

interface Sums {
  readonly tokens: number;
  readonly cost: number;
  readonly missingUsage: number;
  readonly missingCost: number;
}

/** A sum of 0 with missing values is unknown. */
function row(name: string, { tokens, cost, missingUsage, missingCost }: Sums, answers?: number): Row {
  return {
    name,
    ...(answers === undefined ? {} : { answers }),
    tokens: tokens === 0 && missingUsage > 0 ? null : tokens,
    cost: cost === 0 && missingUsage + missingCost > 0 ? null : cost,
    missingUsage,
    missingCost,
  };
}

function rowOf(name: string, used: Totals, answers?: number): Row {
  return row(name, sumsOf(used), answers);
}

function sumsOf({ totalTokens, totalCost, missingCostEntries, missingUsageEntries = 0 }: Totals): Sums {
  return { tokens: totalTokens, cost: totalCost, missingCost: missingCostEntries, missingUsage: missingUsageEntries };
}

/** Adds a row for usage without an agent or channel, so that the rows add up to the total. */
function withRest(named: readonly (readonly [name: string, totals: Totals])[], totals: Totals): Row[] {
  const all = sumsOf(totals);
  const rest = named.reduce<Sums>((left, [, used]) => {
    const sums = sumsOf(used);
    return {
      tokens: left.tokens - sums.tokens,
      cost: left.cost - sums.cost,
      missingCost: left.missingCost - sums.missingCost,
      missingUsage: left.missingUsage - sums.missingUsage,
    };
  }, all);
  const isThere = rest.tokens > 0 || rest.missingUsage > 0;
  return [...named.map(([name, used]) => rowOf(name, used)), ...(isThere ? [row(NONE, rest)] : [])];
}
