/** How data, waiting and failures look everywhere. */
import { detailsOf } from "./failure.ts";
import { html, nothing, type TemplateResult } from "lit";
import { CircleAlert, RotateCw } from "lucide";
import type { Resource } from "../core/resource.ts";
import { t } from "../core/text.ts";
import { icon } from "./icon.ts";

/** The value of a resource; before it is there: a placeholder or the failure. A failure of a later load is shown above the old value. */
export function show<T>(resource: Resource<T>, draw: (value: T) => TemplateResult | typeof nothing): TemplateResult {
  const { value, error, isLoading } = resource;
  if (value === undefined) return error === undefined ? waiting() : failed(error, () => void resource.reload());
  return html`${error === undefined ? nothing : failed(error, () => void resource.reload(), isLoading)}${draw(value)}`;
}

export function waiting(): TemplateResult {
  return html`<div class="waiting" role="status">
    <span class="spinner"></span><span class="unseen">${t.common.loading}</span>
  </div>`;
}

/** A failure with its cause, the gateway's next step, and a way to try again. */
export function failed(error: unknown, retry?: () => void, isRetrying = false): TemplateResult {
  const { message, next } = detailsOf(error);
  return html`<div class="notice bad" role="alert">
    ${icon(CircleAlert)}
    <div>
      <p>${message}</p>
      ${next === undefined ? nothing : html`<p class="next">${t.common.next}: ${next}</p>`}
    </div>
    ${retry ? html`<button ?disabled=${isRetrying} @click=${retry}>${icon(RotateCw)}${t.common.retry}</button>` : nothing}
  </div>`;
}

/** What a list shows when it has nothing. @param action what people can do about it */
export function empty(title: string, text?: string, action?: TemplateResult): TemplateResult {
  return html`<div class="empty">
    <h3>${title}</h3>
    ${text === undefined ? nothing : html`<p>${text}</p>`}${action ?? nothing}
  </div>`;
}

export type Tone = "neutral" | "good" | "warning" | "bad" | "accent";

/** A state in one word. */
export function badge(text: string, tone: Tone = "neutral"): TemplateResult {
  return html`<span class="badge ${tone}">${text}</span>`;
}

/** Facts as rows of label and value; rows whose value is absent are left out. */
export function facts(rows: readonly (readonly [label: string, value: unknown])[]): TemplateResult {
  const given = rows.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return html`<dl class="facts">
    ${given.map(
      ([label, value]) =>
        html`<dt>${label}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}
