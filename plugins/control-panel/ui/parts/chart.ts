/** A chart with a table of the same numbers. uPlot is loaded with the first one that is shown. */
import { html, type TemplateResult } from "lit";
import type uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { t } from "../core/text.ts";
import "./chart.css";

export interface ChartSeries {
  readonly label: string;
  /** One for each value of `x`. */
  readonly values: readonly number[];
}

export interface Chart {
  /** What it shows, for screen readers, too. */
  readonly label: string;
  /** `bars`: the series are stacked. */
  readonly kind: "bars" | "line";
  /** Ascending: epoch ms, or numbers that `xText` turns into texts. */
  readonly x: readonly number[];
  readonly xText: (x: number) => string;
  /** Short, for the axis. Default `xText`. */
  readonly axisText?: (x: number) => string;
  /** At most 6. */
  readonly series: readonly ChartSeries[];
  readonly text: (value: number) => string;
}

/** Colours of the series, in their order. */
const COLORS = ["--accent", "--good", "--warning", "--bad", "--quiet", "--text"];
const HEIGHT = 220;

export function chart(data: Chart): TemplateResult {
  const { label, series, x, xText, text } = data;
  const sums = x.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const isStack = series.length > 1;
  return html`<figure class="chart">
    <figcaption>
      <span>${label}</span>
      ${isStack ? series.map((one, index) => html`<span class="key c${index}">${one.label}</span>`) : ""}
    </figcaption>
    <svc-chart role="img" aria-label=${label} .data=${data}></svc-chart>
    <details>
      <summary>${t.chart.table}</summary>
      <div class="table-scroll" tabindex="0">
        <table>
          <thead>
            <tr>
              <th></th>
              ${series.map((one) => html`<th class="number">${one.label}</th>`)}
              ${isStack ? html`<th class="number">${t.chart.total}</th>` : ""}
            </tr>
          </thead>
          <tbody>
            ${x.map(
              (at, row) =>
                html`<tr>
                  <td>${xText(at)}</td>
                  ${series.map(({ values }) => html`<td class="number">${text(values[row] ?? 0)}</td>`)}
                  ${isStack ? html`<td class="number">${text(sums[row] ?? 0)}</td>` : ""}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>
  </figure>`;
}

class SvcChart extends HTMLElement {
  #data: Chart | undefined;
  #drawn: { readonly json: string; readonly plot: uPlot } | undefined;
  #ended: AbortController | undefined;
  #isPlanned = false;

  set data(data: Chart) {
    this.#data = data;
    this.#plan(false);
  }

  connectedCallback(): void {
    this.#ended = new AbortController();
    const { signal } = this.#ended;
    const resized = new ResizeObserver(() =>
      this.#drawn?.plot.setSize({ width: Math.max(this.clientWidth, 50), height: HEIGHT }),
    );
    resized.observe(this);
    const themed = new MutationObserver(() => this.#plan(true));
    themed.observe(document.documentElement, { attributeFilter: ["data-theme", "lang"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#plan(true), { signal });
    signal.addEventListener("abort", () => {
      resized.disconnect();
      themed.disconnect();
    });
    this.#plan(true);
  }

  disconnectedCallback(): void {
    this.#ended?.abort();
    this.#drawn?.plot.destroy();
    this.#drawn = undefined;
  }

  /** @param anew draws although the numbers are the same */
  #plan(anew: boolean): void {
    if (anew) {
      this.#drawn?.plot.destroy();
      this.#drawn = undefined;
    }
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    void import("uplot").then(({ default: Plot }) => {
      this.#isPlanned = false;
      if (this.isConnected) this.#draw(Plot);
    });
  }

  #draw(Plot: typeof uPlot): void {
    const data = this.#data;
    if (!data) return;
    const json = JSON.stringify([data.kind, data.x, data.series]);
    if (this.#drawn?.json === json) return;
    this.#drawn?.plot.destroy();
    const plot = new Plot(optionsOf(data, this, Plot), valuesOf(data), this);
    this.#drawn = { json, plot };
  }
}

/** Stacked series are drawn as sums, the tallest first, so that each shows above the next. */
function valuesOf({ kind, x, series }: Chart): uPlot.AlignedData {
  if (kind === "line") return [[...x], ...series.map(({ values }) => [...values])];
  const sums: number[][] = [];
  for (const { values } of series) {
    const below = sums.at(-1);
    sums.push(values.map((value, index) => value + (below?.[index] ?? 0)));
  }
  return [x.map((_, index) => index), ...sums.reverse()];
}

function optionsOf(data: Chart, element: HTMLElement, Plot: typeof uPlot): uPlot.Options {
  const { kind, x, xText, axisText = xText, series, text } = data;
  const style = getComputedStyle(element);
  // A probe turns `light-dark(...)` into the colour of the current theme.
  const color = (name: string) => {
    element.style.color = `var(${name})`;
    const found = style.color;
    element.style.color = "";
    return found;
  };
  const [quiet, line] = [color("--quiet"), color("--line")];
  const font = `12px ${style.fontFamily}`;
  const axis = { stroke: quiet, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const tip = document.createElement("div");
  tip.className = "chart-tip";
  tip.hidden = true;
  const drawn = series.map(({ label }, index) => {
    const stroke = color(COLORS[index % COLORS.length] ?? "--accent");
    const bars = { fill: stroke, width: 0, paths: Plot.paths.bars?.({ size: [0.75, 48] }), points: { show: false } };
    return { label, stroke, ...(kind === "bars" ? bars : { width: 2, points: { show: false } }) } as uPlot.Series;
  });
  return {
    width: Math.max(element.clientWidth, 50),
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: { x: { time: false, ...(kind === "bars" ? { range: [-0.6, x.length - 0.4] as [number, number] } : {}) } },
    series: [{}, ...(kind === "bars" ? drawn.reverse() : drawn)],
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 32,
        space: 90,
        values: (_plot, splits) =>
          splits.map((at) =>
            kind === "line" ? axisText(at) : Number.isInteger(at) && x[at] !== undefined ? axisText(x[at]) : "",
          ),
      },
      { ...axis, size: 64, values: (_plot, splits) => splits.map(text) },
    ],
    hooks: {
      ready: [(plot) => plot.over.append(tip)],
      setCursor: [
        (plot) => {
          const { left = -1 } = plot.cursor;
          const index = plot.cursor.idx ?? -1;
          const at = x[index];
          tip.hidden = at === undefined || left < 0;
          if (at === undefined || left < 0) return;
          const lines = series.flatMap(({ label, values: { [index]: value = 0 } }) =>
            value > 0 ? [`${label}: ${text(value)}`] : [],
          );
          tip.textContent = [xText(at), ...lines].join("\n");
          tip.style.left = `${Math.min(left + 12, Math.max(plot.over.clientWidth - tip.offsetWidth, 0))}px`;
        },
      ],
    },
  };
}

customElements.define("svc-chart", SvcChart);
