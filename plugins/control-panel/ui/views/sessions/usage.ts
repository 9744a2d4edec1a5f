/** Tokens and cost of one session: totals, growth, and the last messages with theirs. */
import type { ResultOf } from "@svc/sdk";
import { sessionsUsage } from "@svc/sdk/usage";
import { html, nothing, type TemplateResult } from "lit";
import type { ViewContext } from "../../core/app.ts";
import { locale, t } from "../../core/text.ts";
import { chart } from "../../parts/chart.ts";
import { createChosen } from "../../parts/chosen.ts";
import { empty, facts, show } from "../../parts/show.ts";
import { absolute, compact, dayOf, dollars, duration } from "../../parts/time.ts";
import type { Row } from "./list.ts";

interface Loaded {
  readonly usage: ResultOf<typeof sessionsUsage.report>["sessions"][number]["usage"];
  readonly points: ResultOf<typeof sessionsUsage.timeseries>["points"];
  readonly logs: ResultOf<typeof sessionsUsage.logs>["logs"];
}

/** Ten years: everything that is stored. */
const DAYS = 3_650;
const MESSAGES = 100;
const TOOLS = 8;

export function createSessionUsage(context: ViewContext): { draw(row: Row): TemplateResult } {
  async function load(key: string): Promise<Loaded> {
    const [report, growth, messages] = await Promise.all([
      context.call(sessionsUsage.report, { key, days: DAYS }),
      context.call(sessionsUsage.timeseries, { key }),
      context.call(sessionsUsage.logs, { key, limit: MESSAGES }),
    ]);
    return { usage: report.sessions[0]?.usage ?? null, points: growth.points, logs: messages.logs };
  }

  const loaded = createChosen(context, load);

  return {
    draw: (row) =>
      show(loaded(row.key, row.updatedAt), ({ usage, points, logs }) => {
        if (!usage) return empty(t.sessions.noUsage, t.sessions.noUsageText);
        const { messageCounts, toolUsage, latency, missingCostEntries } = usage;
        const { facts: names } = t.sessions;
        const number = (value: number) => value.toLocaleString(locale);
        return html`${facts([
            [names.tokens, number(usage.totalTokens)],
            [names.input, `${number(usage.input)} + ${t.sessions.cached(number(usage.cacheRead))}`],
            [names.output, number(usage.output)],
            [names.cost, `${dollars(usage.totalCost)}${missingCostEntries > 0 ? ` (${t.sessions.partlyPriced})` : ""}`],
            [names.messages, messageCounts && number(messageCounts.total)],
            [names.latency, latency && `${duration(latency.avgMs)} (p95 ${duration(latency.p95Ms)})`],
            [
              names.tools,
              toolUsage?.tools
                .slice(0, TOOLS)
                .map(({ name, count }) => `${name} × ${count}`)
                .join(", "),
            ],
          ])}
          ${
            points.length > 1
              ? chart({
                  label: t.sessions.growth,
                  kind: "line",
                  x: points.map(({ timestamp }) => timestamp),
                  xText: absolute,
                  axisText: dayOf,
                  series: [{ label: names.tokens, values: points.map(({ cumulativeTokens }) => cumulativeTokens) }],
                  text: compact,
                })
              : nothing
          }
          <details>
            <summary>${t.sessions.perMessage}</summary>
            <div class="table-scroll">
              <table>
                <thead>
                  <tr>
                    <th>${names.time}</th>
                    <th>${names.message}</th>
                    <th class="number">${names.tokens}</th>
                    <th class="number">${names.cost}</th>
                  </tr>
                </thead>
                <tbody>
                  ${logs.toReversed().map(
                    ({ timestamp, content, tokens, cost }) =>
                      html`<tr>
                        <td class="quiet">${absolute(timestamp)}</td>
                        <td class="break">${content.slice(0, 200)}</td>
                        <td class="number">${tokens === undefined ? "" : number(tokens)}</td>
                        <td class="number">${cost === undefined ? "" : dollars(cost)}</td>
                      </tr>`,
                  )}
                </tbody>
              </table>
            </div>
          </details>`;
      }),
  };
}
