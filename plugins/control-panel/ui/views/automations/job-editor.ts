/** The form for a new job or a change of one. It shows the next run times while people write the schedule. */
import { agents } from "@svc/sdk/agents";
import { channels } from "@svc/sdk/channels";
import { cron, type CronJob } from "@svc/sdk/cron";
import { models } from "@svc/sdk/models";
import { html, nothing, type TemplateResult } from "lit";
import type { ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { type Dialog, openDialog } from "../../parts/dialog.ts";
import { failed } from "../../parts/show.ts";
import { deliveryFields, fieldsOf, isUnusual, moreFields, scheduleFields, withOwn } from "./job-fields.ts";
import { formOf, type JobForm, NEW_JOB, paramsOf } from "./job-form.ts";
import { createPreview } from "./job-preview.ts";

/** How levels of thinking are named. The gateway refuses others. */
const THINKING = ["off", "minimal", "low", "medium", "high", "xhigh", "adaptive"];

/**
 * @param start the job that is changed, or values of a new one
 * @returns the saved job; `undefined`: cancelled
 */
export function editJob(
  context: ViewContext,
  start: { readonly job: CronJob } | { readonly values: Partial<JobForm> },
): Promise<CronJob | undefined> {
  const job = "job" in start ? start.job : undefined;
  const form: JobForm = job ? formOf(job) : { ...NEW_JOB, ...("values" in start ? start.values : {}) };
  let redraw = () => {};
  const known = { agents: [] as string[], models: [] as string[], channels: [] as string[] };
  const preview = createPreview(context, job, form, () => redraw());
  const e = t.automations.editor;

  void loadKnown(context, known, () => redraw());
  return openDialog<CronJob>({
    title: job ? e.change : e.create,
    isWide: true,
    body: (dialog) => {
      ({ redraw } = dialog);
      return draw(dialog);
    },
  });

  function draw({ close, run, isBusy, error }: Dialog<CronJob>): TemplateResult {
    const save = async (event: SubmitEvent) => {
      event.preventDefault();
      let saved: CronJob | undefined;
      const isSaved = await run(async () => {
        const params = paramsOf(form, job);
        saved = await (job ? context.call(cron.update, { id: job.id, patch: params }) : context.call(cron.add, params));
      });
      if (isSaved) close(saved);
    };
    const typed = (event: Event) => {
      const { name, type, value, checked } = event.target as HTMLInputElement;
      if (!(name in form)) return;
      Object.assign(form, { [name]: type === "checkbox" ? checked : value });
      if (name === "kind" && !job) form.deleteAfterRun = form.kind === "at";
      preview.changed();
      redraw();
    };
    const { field, flag } = fieldsOf(form);
    const isTurn = form.payload === "agentTurn";

    return html`<form class="editor" @submit=${save} @input=${typed}>
      <div class="content">
        <div class="pair">
          ${field("name", e.name, { placeholder: e.namePlaceholder })} ${field("description", e.description)}
        </div>
        <h3>${e.when}</h3>
        <div class="pair">
          ${field("kind", e.kind, {
            choices: [
              ["cron", e.kinds.cron],
              ["every", e.kinds.every],
              ["at", e.kinds.at],
            ],
          })}
          ${scheduleFields(form, field)}
        </div>
        ${
          form.kind === "cron"
            ? html`<div class="actions">
                ${e.examples.map(
                  ([expr, label]) =>
                    html`<button
                      type="button"
                      class="small"
                      aria-pressed=${form.expr === expr}
                      @click=${() => {
                        form.expr = expr;
                        preview.changed();
                        redraw();
                      }}
                    >
                      ${label}
                    </button>`,
                )}
              </div>`
            : nothing
        }
        ${preview.draw()}
        <h3>${e.what}</h3>
        ${field("payload", e.payload, {
          choices: [
            ["agentTurn", e.payloads.agentTurn],
            ["systemEvent", e.payloads.systemEvent],
          ],
          hint: isTurn ? e.turnHint : e.eventHint,
        })}
        ${
          isTurn
            ? html`${field("message", e.message, { kind: "multiline", isRequired: true })}
                <div class="pair">
                  ${
                    known.agents.length > 1 || form.agentId !== ""
                      ? field("agentId", e.agent, {
                          choices: [["", e.defaultAgent], ...withOwn(known.agents, form.agentId)],
                        })
                      : nothing
                  }
                  ${field("model", e.model, { list: "job-models", placeholder: e.usual })}
                  ${field("thinking", e.thinking, { choices: [["", e.usual], ...withOwn(THINKING, form.thinking)] })}
                  ${field("timeout", e.timeout, { kind: "number", placeholder: "60", hint: e.timeoutHint })}
                </div>`
            : field("text", e.text, { kind: "multiline", isRequired: true })
        }
        <h3>${e.delivery}</h3>
        ${deliveryFields(form, field, flag, known.channels)}
        <details ?open=${isUnusual(job)}>
          <summary>${e.more}</summary>
          <div class="column">${moreFields(form, field, flag, job)}</div>
        </details>
        ${flag("enabled", e.enabled)} ${error === undefined ? nothing : failed(error)}
        ${datalist("job-models", known.models)} ${datalist("job-channels", ["last", ...known.channels])}
        ${datalist("job-zones", form.kind === "cron" ? Intl.supportedValuesOf("timeZone") : [])}
      </div>
      <footer>
        <button type="button" @click=${() => close()}>${t.common.cancel}</button>
        <button class="primary" ?disabled=${isBusy}>${t.common.save}</button>
      </footer>
    </form>`;
  }
}

function datalist(id: string, values: readonly string[]): TemplateResult {
  return html`<datalist id=${id}>${values.map((value) => html`<option value=${value}></option>`)}</datalist>`;
}

/** What fields suggest. A plugin that is off suggests nothing. */
async function loadKnown(
  context: ViewContext,
  known: { agents: string[]; models: string[]; channels: string[] },
  redraw: () => void,
): Promise<void> {
  const [ofAgents, ofModels, ofChannels] = await Promise.allSettled([
    context.call(agents.list, {}),
    context.call(models.list, {}),
    context.call(channels.status, {}),
  ]);
  if (ofAgents.status === "fulfilled") known.agents = ofAgents.value.agents.map(({ id }) => id);
  if (ofModels.status === "fulfilled")
    known.models = ofModels.value.models.map(({ provider, id }) => `${provider}/${id}`);
  if (ofChannels.status === "fulfilled") {
    const { channelOrder, channels: states } = ofChannels.value;
    known.channels = channelOrder.filter((id) => states[id]?.configured === true);
  }
  redraw();
}
