/** The next run times of the schedule in the form, from the gateway. */
import { cron, type CronJob } from "@svc/sdk/cron";
import { html, nothing, type TemplateResult } from "lit";
import type { ViewContext } from "../../core/app.ts";
import { locale, t } from "../../core/text.ts";
import { detailsOf } from "../../parts/failure.ts";
import { relative } from "../../parts/time.ts";
import { browserZone, type JobForm, scheduleOf } from "./job-form.ts";

/** Milliseconds without typing before the gateway is asked. */
const PREVIEW_MS = 250;

/** @param redraw called after each change of what `draw` shows */
export function createPreview(context: ViewContext, job: CronJob | undefined, form: JobForm, redraw: () => void) {
  let shown: { times: readonly number[]; timeZone?: string; spreadMs?: number } | undefined;
  let refusal: unknown;
  let asked = "";
  let turn = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const e = t.automations.editor;

  async function ask(): Promise<void> {
    const schedule = scheduleOf(form, job?.schedule);
    const key = JSON.stringify(schedule ?? null);
    if (key === asked) return;
    asked = key;
    const mine = ++turn;
    try {
      const next = schedule && (await context.call(cron.preview, { schedule, ...(job ? { id: job.id } : {}) }));
      if (mine !== turn) return;
      shown = next as typeof shown; // its optional fields are absent, not undefined
      refusal = undefined;
    } catch (failure) {
      if (mine !== turn) return;
      shown = undefined;
      refusal = failure;
    }
    redraw();
  }

  void ask();
  return {
    changed() {
      clearTimeout(timer);
      timer = setTimeout(() => void ask(), PREVIEW_MS);
    },
    draw(): TemplateResult {
      if (refusal !== undefined) {
        const { message } = detailsOf(refusal);
        return html`<p class="notice warning preview" role="status">${plainRefusal(message)}</p>`;
      }
      if (!shown) return html`<p class="quiet preview" role="status">${e.noTimesYet}</p>`;
      const { times, timeZone, spreadMs = 0 } = shown;
      if (times.length === 0) return html`<p class="notice warning preview" role="status">${e.never}</p>`;
      const format = new Intl.DateTimeFormat(locale, {
        weekday: "short",
        day: "numeric",
        month: "short",
        year: "numeric",
        hour: "2-digit",
        minute: "2-digit",
        ...(timeZone === undefined ? {} : { timeZone }),
      });
      return html`<div class="preview" role="status">
        <p>
          <strong>${times.length === 1 ? e.nextTime : e.nextTimes}</strong>
          <span class="quiet">${timeZone === undefined ? e.browserZone(browserZone()) : e.inZone(timeZone)}</span>
        </p>
        <ol>
          ${times.map(
            (at, index) =>
              html`<li>
                ${format.format(at)}${index === 0 ? html` <span class="quiet">(${relative(at)})</span>` : nothing}
              </li>`,
          )}
        </ol>
        ${spreadMs > 0 ? html`<small>${e.spread(Math.round(spreadMs / 60_000))}</small>` : nothing}
      </div>`;
    },
  };
}

/** Without what only programs need: the name of the method and the place in its params. */
function plainRefusal(message: string): string {
  return message.replace(/^Error: /, "").replace(/^invalid [\w.]+ params: at [\w/]+: /, "");
}
