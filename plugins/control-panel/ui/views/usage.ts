/** Tokens and cost: by day and model, agent, channel and tool; the most expensive sessions; quotas of model providers. */
import type { ResultOf } from "@svc/sdk";
import { sessionsUsage, usage } from "@svc/sdk/usage";
import { html, nothing, type TemplateResult } from "lit";
import { RotateCw } from "lucide";
import { hrefOf } from "../core/address.ts";
import type { OpenView } from "../core/app.ts";
import { locale, t } from "../core/text.ts";
import { chart, type ChartSeries } from "../parts/chart.ts";
import { icon } from "../parts/icon.ts";
import { badge, empty, show } from "../parts/show.ts";
import { ago, compact, dollars, duration, relative, utcOffset } from "../parts/time.ts";
import "./usage.css";

type Report = ResultOf<typeof sessionsUsage.report>;
type Totals = Report["totals"];
type Measure = "tokens" | "cost";

const RANGES = [7, 30, 90] as const;
const MEASURES = ["tokens", "cost"] as const;
/** Sessions that a report counts; the newest ones. */
const COUNTED = 20_000;
const TOP = 10;
/** Rows of the other tables. */
const ROWS = 20;
/** Models with a colour of their own; the others share one. */
const MODELS = 4;
const REFRESH_MS = 120_000;
const CALL_MS = 120_000;

export default ((context) => {
  let days: number = 30;
  let measure: Measure = "tokens";
  const report = context.resource(
    () =>
      context.call(
        sessionsUsage.report,
        { days, mode: "specific", utcOffset: utcOffset(), limit: COUNTED, top: TOP },
        { timeoutMs: CALL_MS },
      ),
    { everyMs: REFRESH_MS },
  );
  const quotas = context.resource(() => context.call(usage.status, {}), { everyMs: 3 * REFRESH_MS });

  const amount = ({ totalTokens, totalCost }: Totals) => (measure === "tokens" ? totalTokens : totalCost);
  const text = (value: number) => (measure === "tokens" ? compact(value) : dollars(value));

  const choose = <T>(
    values: readonly T[],
    chosen: T,
    name: (value: T) => string,
    label: string,
    set: (value: T) => void,
  ) =>
    html`<div class="choices" role="group" aria-label=${label}>
      ${values.map(
        (value) =>
          html`<button
            class=${value === chosen ? "accent" : ""}
            aria-pressed=${value === chosen}
            @click=${() => {
              set(value);
              context.redraw();
            }}
          >
            ${name(value)}
          </button>`,
      )}
    </div>`;

  const figure = (label: string, value: string, more?: string) =>
    html`<div class="card figure">
      <span class="quiet">${label}</span
      ><strong>${value}</strong>${more === undefined ? nothing : html`<small>${more}</small>`}
    </div>`;

  function figures({ totals, aggregates: { messages, latency } }: Report): TemplateResult {
    const number = (value: number) => value.toLocaleString(locale);
    const { missingCostEntries, missingUsageEntries = 0 } = totals;
    return html`<div class="figures">
      ${figure(t.usage.tokens, compact(totals.totalTokens), t.usage.inAndOut(compact(totals.input + totals.cacheRead + totals.cacheWrite), compact(totals.output)))}
      ${figure(t.usage.cost, dollars(totals.totalCost), missingCostEntries > 0 ? t.usage.unpriced(number(missingCostEntries)) : undefined)}
      ${figure(t.usage.messages, number(messages.total), t.usage.calls(number(messages.toolCalls), number(messages.errors)))}
      ${figure(t.usage.latency, latency ? duration(latency.avgMs) : "–", latency ? `p95 ${duration(latency.p95Ms)}` : undefined)}
      ${missingUsageEntries > 0 ? figure(t.usage.unmeasured, number(missingUsageEntries), t.usage.unmeasuredText) : nothing}
    </div>`;
  }

  function daily({ aggregates }: Report): TemplateResult {
    const dates = allDays(days);
    const index = new Map(dates.map((date, at) => [date, at]));
    const names = aggregates.byModel
      .toSorted((a, b) => amount(b.totals) - amount(a.totals))
      .slice(0, MODELS)
      .map(modelName);
    const others = t.usage.others;
    const values = new Map<string, number[]>();
    for (const row of aggregates.modelDaily) {
      const at = index.get(row.date);
      if (at === undefined) continue;
      const name = names.includes(modelName(row)) ? modelName(row) : others;
      let line = values.get(name);
      if (!line) values.set(name, (line = dates.map(() => 0)));
      line[at] = (line[at] ?? 0) + (measure === "tokens" ? row.tokens : row.cost);
    }
    const series = [...names, others].flatMap((label): ChartSeries[] => {
      const line = values.get(label);
      return line ? [{ label, values: line }] : [];
    });
    if (series.length === 0) return html``;
    const x = dates.map((date) => Date.parse(`${date}T00:00:00Z`));
    const label = measure === "tokens" ? t.usage.tokensByDay : t.usage.costByDay;
    return html`<section class="card">${chart({ label, kind: "bars", x, xText: dayText, series, text })}</section>`;
  }

  /** @param heads names of the columns; the first `words` of them hold words, the others numbers */
  const table = (title: string, heads: readonly string[], words: number, lines: readonly TemplateResult[]) =>
    lines.length === 0
      ? nothing
      : html`<section class="card">
          <h2>${title}</h2>
          <div class="table-scroll" tabindex="0" role="region" aria-label=${title}>
            <table>
              <thead>
                <tr>
                  ${heads.map((head, index) => html`<th class=${index < words ? "" : "number"}>${head}</th>`)}
                </tr>
              </thead>
              <tbody>
                ${lines}
              </tbody>
            </table>
          </div>
        </section>`;

  function shares(title: string, given: readonly (readonly [name: string, totals: Totals])[]) {
    const sorted = given
      .filter(([, totals]) => totals.totalTokens > 0)
      .toSorted(([, a], [, b]) => amount(b) - amount(a));
    const most = Math.max(...sorted.map(([, totals]) => amount(totals)), Number.MIN_VALUE);
    const lines = sorted.slice(0, ROWS).map(
      ([name, totals]) =>
        html`<tr>
          <td>
            <div class="share">
              <span class="break">${name}</span>
              <progress aria-hidden="true" max=${most} .value=${amount(totals)}></progress>
            </div>
          </td>
          <td class="number">${compact(totals.totalTokens)}</td>
          <td class="number">${dollars(totals.totalCost)}</td>
        </tr>`,
    );
    return table(title, [title, t.usage.tokens, t.usage.cost], 1, lines);
  }

  function tools({ aggregates: { byTool = [] } }: Report) {
    const lines = byTool.slice(0, ROWS).map(
      ({ name, calls, tokens, cost }) =>
        html`<tr>
          <td class="break">${name}</td>
          <td class="number">${calls.toLocaleString(locale)}</td>
          <td class="number">${tokens === null ? "–" : compact(tokens)}</td>
          <td class="number">${cost === null ? "–" : dollars(cost)}</td>
        </tr>`,
    );
    return table(t.usage.tools, [t.usage.tool, t.usage.toolCalls, t.usage.tokens, t.usage.cost], 1, lines);
  }

  function top({ sessions: found }: Report) {
    const lines = found.map(
      ({ key, label, updatedAt, usage: used }) =>
        html`<tr>
          <td class="break">
            <a href=${hrefOf("sessions", { key })}>${label ?? key}</a>
          </td>
          <td class="quiet">${ago(updatedAt)}</td>
          <td class="number">${compact(used?.totalTokens ?? 0)}</td>
          <td class="number">${dollars(used?.totalCost ?? 0)}</td>
        </tr>`,
    );
    return table(t.usage.topSessions, [t.usage.session, t.usage.used, t.usage.tokens, t.usage.cost], 2, lines);
  }

  function content(value: Report): TemplateResult {
    const { aggregates, totals } = value;
    if (aggregates.messages.total === 0) return empty(t.usage.none, t.usage.noneText);
    if (totals.totalTokens === 0)
      return html`${figures(value)}${empty(t.usage.noTokens, t.usage.noTokensText)}${tools(value)}`;
    return html`${figures(value)} ${daily(value)}
      <div class="grid wide">
        ${shares(
          t.usage.models,
          aggregates.byModel.map((row) => [modelName(row), row.totals] as const),
        )}
        ${shares(
          t.usage.agents,
          aggregates.byAgent.map(({ agentId, totals: own }) => [agentId, own] as const),
        )}
        ${shares(
          t.usage.channels,
          aggregates.byChannel.map(({ channel, totals: own }) => [channel, own] as const),
        )}
        ${tools(value)}
      </div>
      ${top(value)}`;
  }

  const quota = () =>
    show(quotas, ({ providers }) =>
      providers.length === 0
        ? html`<p class="quiet">${t.usage.noQuotas}</p>`
        : html`<div class="grid">
            ${providers.map(
              ({ displayName, plan, error, windows }) =>
                html`<div class="card">
                  <header>
                    <h3>${displayName}</h3>
                    ${plan === undefined ? nothing : badge(plan)}
                  </header>
                  ${error === undefined ? nothing : html`<p class="notice warning">${error}</p>`}
                  ${windows.map(
                    ({ label, usedPercent, resetAt }) =>
                      html`<label class="quota">
                        <span>${label}</span><span>${t.usage.percent(Math.round(usedPercent))}</span>
                        <meter min="0" max="100" high="80" optimum="0" .value=${usedPercent}></meter>
                        <small>${resetAt === undefined ? "" : t.usage.resets(relative(resetAt))}</small>
                      </label>`,
                  )}
                </div>`,
            )}
          </div>`,
    );

  return {
    render: () =>
      html`<div class="view usage">
        <header>
          <h1>${t.usage.title}</h1>
          <span class="fill"></span>
          ${choose(
            MEASURES,
            measure,
            (value) => t.usage[value],
            t.usage.measure,
            (value) => (measure = value),
          )}
          ${choose(
            RANGES,
            days,
            (value) => t.usage.days(value),
            t.usage.range,
            (value) => {
              days = value;
              void report.reload();
            },
          )}
          <button
            class="plain"
            aria-label=${t.common.refresh}
            title=${t.common.refresh}
            ?disabled=${report.isLoading}
            @click=${() => void report.reload()}
          >
            ${icon(RotateCw)}
          </button>
        </header>
        ${show(report, content)}
        <h2>${t.usage.quotas}</h2>
        ${quota()}
      </div>`,
  };
}) satisfies OpenView;

function modelName({ provider, model }: { readonly provider?: string; readonly model?: string }): string {
  return [provider, model].filter((part) => part !== undefined && part !== "").join("/") || t.usage.unknownModel;
}

/** The last days up to today, `YYYY-MM-DD` at the place of the reader. */
function allDays(count: number): string[] {
  const today = Date.now() - new Date().getTimezoneOffset() * 60_000;
  return Array.from({ length: count }, (_, index) =>
    new Date(today - (count - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  );
}

function dayText(at: number): string {
  return new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", timeZone: "UTC" }).format(at);
}
