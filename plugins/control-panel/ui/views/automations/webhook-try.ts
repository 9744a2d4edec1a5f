/** Tries a request without effect: which mapping takes it, what becomes of it, what its sender would get. */
import { type WebhookMappingInfo, webhooks, type WebhookTrialReport } from "@svc/sdk/webhooks";
import { html, nothing, type TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import { FlaskConical, WandSparkles } from "lucide";
import type { ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { icon } from "../../parts/icon.ts";
import { badge, facts, failed } from "../../parts/show.ts";
import { filled, sampleOf } from "./webhook-sample.ts";

export function createTrial(context: ViewContext, mapping: WebhookMappingInfo) {
  const start = sampleOf(mapping);
  let path = "";
  let headers = headerText(start.headers);
  let payload = JSON.stringify(start.payload, null, 2);
  let report: WebhookTrialReport | undefined;
  let error: unknown;
  let isBusy = false;

  const request = (sample: { headers: Record<string, string>; payload: unknown }) =>
    context.call(webhooks.try, {
      mapping: mapping.id,
      payload: sample.payload,
      headers: sample.headers,
      ...(path.trim() === "" ? {} : { path: path.trim() }),
    });

  const work = async (task: () => Promise<void>) => {
    isBusy = true;
    error = undefined;
    context.redraw();
    try {
      await task();
    } catch (failure) {
      error = failure;
    }
    isBusy = false;
    context.redraw();
  };

  const fill = () =>
    work(async () => {
      const sample = sampleOf(mapping);
      const { missing = [] } = await request(sample);
      const full = filled(sample, missing);
      headers = headerText(full.headers);
      payload = JSON.stringify(full.payload, null, 2);
    });

  const run = (event: SubmitEvent) => {
    event.preventDefault();
    void work(async () => {
      report = undefined;
      report = await request({ headers: headersOf(headers), payload: payload.trim() === "" ? {} : parsed(payload) });
    });
  };

  return {
    id: mapping.id,
    render: (): TemplateResult => {
      const w = t.automations.hooks;
      const typed = (set: (text: string) => void) => (event: Event) =>
        set((event.target as HTMLTextAreaElement | HTMLInputElement).value);
      return html`<section class="card">
        <header>
          <h2>${w.tryIt}</h2>
          <span class="fill"></span>
          <button type="button" ?disabled=${isBusy} @click=${fill}>${icon(WandSparkles)}${w.sample}</button>
        </header>
        <p class="quiet">${w.tryText}</p>
        <form class="column" @submit=${run}>
          <div class="pair">
            <label class="field">
              <span>${w.payload}</span>
              <textarea
                class="mono"
                rows="9"
                spellcheck="false"
                .value=${live(payload)}
                @input=${typed((text) => (payload = text))}
              ></textarea>
            </label>
            <div class="column">
              <label class="field">
                <span>${w.headers}</span>
                <textarea
                  class="mono"
                  rows="4"
                  spellcheck="false"
                  placeholder="x-event: build"
                  .value=${live(headers)}
                  @input=${typed((text) => (headers = text))}
                ></textarea>
                <small>${w.headersHint}</small>
              </label>
              <label class="field">
                <span>${w.path}</span>
                <input
                  type="text"
                  autocomplete="off"
                  .value=${path}
                  placeholder=${w.pathPlaceholder}
                  @input=${typed((text) => (path = text))}
                />
              </label>
            </div>
          </div>
          <div class="actions">
            <button class="primary" ?disabled=${isBusy}>${icon(FlaskConical)}${w.try}</button>
          </div>
        </form>
        ${error === undefined ? nothing : failed(error)} ${report ? steps(report) : nothing}
      </section>`;
    },
  };
}

/** The report step by step. */
function steps(report: WebhookTrialReport): TemplateResult {
  const w = t.automations.hooks;
  const { matched, mapping, passed, rendered, missing = [], transformed, action, params, policy, response } = report;
  const isGood = response.status < 300;
  const others = html`<details>
    <summary>${w.passed(passed.length)}</summary>
    <ul class="plain-list">
      ${passed.map(({ id, why }) => html`<li><span class="mono">${id}</span>: ${why}</li>`)}
    </ul>
  </details>`;
  return html`<ol class="steps" aria-label=${w.result}>
    <li>
      <h3>${w.stepMatch} ${matched ? badge(mapping ?? "", "good") : badge(w.noMapping, "bad")}</h3>
      ${passed.length === 0 ? nothing : others}
    </li>
    ${
      rendered && Object.keys(rendered).length > 0
        ? html`<li>
            <h3>${w.stepRendered}</h3>
            ${values(rendered)}
            ${missing.length === 0 ? nothing : html`<p class="notice warning">${w.missing(missing.join(", "))}</p>`}
          </li>`
        : nothing
    }
    ${
      "transformed" in report
        ? html`<li>
            <h3>${w.stepTransform}</h3>
            ${transformed === null ? html`<p>${w.skipped}</p>` : html`<pre class="box">${text(transformed)}</pre>`}
          </li>`
        : nothing
    }
    ${
      action === undefined
        ? nothing
        : html`<li>
            <h3>${w.stepAction} ${badge(action, "accent")}</h3>
            ${params ? values(params) : nothing}
            ${policy ? html`<p class="quiet">${policy.wrapped ? w.wrapped : w.notWrapped}</p>` : nothing}
          </li>`
    }
    <li>
      <h3>${w.stepResponse} ${badge(String(response.status), isGood ? "good" : "bad")}</h3>
      ${response.body === undefined ? nothing : html`<pre class="box">${text(response.body)}</pre>`}
    </li>
    ${report.warnings.map((warning) => html`<li><p class="notice warning">${warning}</p></li>`)}
  </ol>`;
}

/** Fields as facts; what is no text is shown as JSON. */
export function values(fields: Readonly<Record<string, unknown>>): TemplateResult {
  return facts(Object.entries(fields).map(([name, value]) => [name, html`<span class="text">${text(value)}</span>`]));
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function headerText(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

/** @throws Error naming the line that is no header */
function headersOf(lines: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines.split("\n").filter((one) => one.trim() !== "")) {
    const [, name, value] = /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined) throw new Error(t.automations.hooks.badHeader(line.trim()));
    headers[name] = value ?? "";
  }
  return headers;
}

/** @throws Error saying what is wrong with the JSON */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    throw new Error(t.automations.hooks.badPayload(error instanceof Error ? error.message : String(error)), {
      cause: error,
    });
  }
}
