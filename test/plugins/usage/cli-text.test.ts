import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ResultOf } from "@svc/sdk";
import type { sessionsUsage } from "@svc/sdk/usage";
import { GROUPINGS, totalRow, usageLines, usageRows } from "../../../plugins/usage/cli-text.ts";
import { totalsOf } from "../../../plugins/usage/summary.ts";

type Report = ResultOf<typeof sessionsUsage.report>;

const used = (totalTokens: number, totalCost: number, more: object = {}) => ({
  ...totalsOf([]),
  totalTokens,
  totalCost,
  ...more,
});
const unknown = used(0, 0, { missingUsageEntries: 2 });
const unpriced = used(5, 0, { missingCostEntries: 1 });

const report: Report = {
  updatedAt: 0,
  startDate: "2026-03-01",
  endDate: "2026-03-02",
  sessions: [
    { key: "agent:main:main", updatedAt: 0, usage: used(10, 1) },
    { key: "agent:main:new", updatedAt: 0, usage: null },
  ],
  totals: used(15, 1, { missingCostEntries: 1, missingUsageEntries: 2 }),
  aggregates: {
    messages: { total: 0, user: 0, assistant: 0, toolCalls: 0, toolResults: 0, errors: 0 },
    tools: { totalCalls: 0, uniqueTools: 0, tools: [] },
    byModel: [
      { provider: "p", model: "m", count: 1, totals: used(10, 1) },
      { provider: "p", model: "n", count: 1, totals: unpriced },
      { provider: "q", model: "o", count: 2, totals: unknown },
    ],
    byProvider: [{ provider: "q", count: 2, totals: unknown }],
    byAgent: [{ agentId: "main", totals: used(15, 1, { missingCostEntries: 1, missingUsageEntries: 2 }) }],
    byChannel: [{ channel: "irc", totals: used(10, 1) }],
    byTool: [
      { name: "read", calls: 3, answers: 2, tokens: null, cost: null, missingCostEntries: 0, missingUsageEntries: 2 },
    ],
    dailyLatency: [],
    modelDaily: [],
    daily: [{ date: "2026-03-02", tokens: 15, cost: 1, messages: 1, toolCalls: 0, errors: 0, missingCostEntries: 1 }],
  },
};

const shown = (by: (typeof GROUPINGS)[number]) =>
  usageRows(report, by)
    .map(({ name, tokens, cost }) => `${name} ${tokens} ${cost}`)
    .join(", ");

describe("svc usage", () => {
  const rows: [by: (typeof GROUPINGS)[number], rows: string][] = [
    ["day", "2026-03-02 15 1"],
    ["model", "p/m 10 1, p/n 5 null, q/o null null"],
    ["provider", "q null null"],
    ["agent", "main 15 1"],
    ["channel", "irc 10 1, (none) 5 null"],
    ["tool", "read null null"],
    ["session", "agent:main:main 10 1"],
  ];
  for (const [by, expected] of rows) it(`groups by ${by}`, () => assert.equal(shown(by), expected));

  it("prints a table with unknown values as unknown", () => {
    assert.deepEqual(usageLines(usageRows(report, "model"), "model", totalRow(report)), [
      "model  answers  tokens   cost",
      "p/m    1        10       $1.0000",
      "p/n    1        5        unknown",
      "q/o    2        unknown  unknown",
      "total  4        15       $1.0000",
      "2 answers have unknown usage: their provider reported none.",
      "1 answers have no known price: set the cost of their model.",
    ]);
  });

  it("reports an empty range", () =>
    assert.deepEqual(usageLines([], "day", totalRow(report)), ["No usage in these days."]));
});
