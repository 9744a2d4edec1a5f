/** The form for a new job or a change of one. It shows the next run times while people write the schedule. */
import { agents } from "@svc/sdk/agents";
import { channels } from "@svc/sdk/channels";
import { cron, type CronJob } from "@svc/sdk/cron";
import { models } from "@svc/sdk/models";
import { html, nothing, type TemplateResult } from "lit";
import { locale, t } from "../../core/text.ts";
import type { ViewContext } from "../../core/app.ts";
import { openDialog } from "../../parts/dialog.ts";
import { detailsOf } from "../../parts/failure.ts";
import { failed } from "../../parts/show.ts";
import { relative } from "../../parts/time.ts";
import { formOf, type JobForm, NEW_JOB, paramsOf, scheduleOf, UNITS } from "./job-form.ts";

type Choices = readonly (readonly [value: string, label: string])[];
type Name = keyof JobForm;
interface Looks {
  readonly hint?: string;
  readonly kind?: "text" | "number" | "multiline" | "datetime-local";
  readonly choices?: Choices;
  /** Id of a datalist. */
  readonly list?: string;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
}

/** How levels of thinking are named. The gateway refuses others. */
const THINKING = ["off", "minimal", "low", "medium", "high", "xhigh", "adaptive"];
const PREVIEW_MS = 250;

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
  let error: unknown;
  let isBusy = false;
  let isStarted = false;
  const known = { agents: [] as string[], models: [] as string[], channels: [] as string[] };
  const preview = createPreview(context, job, form);
  const e = t.automations.editor;

  return openDialog<CronJob>({
    title: job ? e.change : e.create,
    isWide: true,
    body: ({ close, redraw }) => {
      if (!isStarted) {
        isStarted = true;
        preview.start(redraw);
        void loadKnown(context, known, redraw);
      }
      return draw(close, redraw);
    },
  });

  function draw(close: (result?: CronJob) => void, redraw: () => void): TemplateResult {
    const save = async (event: SubmitEvent) => {
      event.preventDefault();
      isBusy = true;
      redraw();
      try {
        const params = paramsOf(form, job);
        return close(
          await (job ? context.call(cron.update, { id: job.id, patch: params }) : context.call(cron.add, params)),
        );
      } catch (failure) {
        error = failure;
      }
      isBusy = false;
      redraw();
    };
    const typed = (event: Event) => {
      const { name, type, value, checked } = event.target as HTMLInputElement;
      if (!(name in form)) return;
      Object.assign(form, { [name]: type === "checkbox" ? checked : value });
      if (name === "kind" && !job) form.deleteAfterRun = form.kind === "at";
      preview.changed();
      redraw();
    };
    const field = (name: Name, label: string, looks?: Looks) => drawField(form, name, label, looks);
    const flag = (name: Name, label: string) =>
      html`<label class="check"><input type="checkbox" name=${name} .checked=${form[name] === true} />${label}</label>`;
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

type Draw = (name: Name, label: string, looks?: Looks) => TemplateResult;
type Flag = (name: Name, label: string) => TemplateResult;

function scheduleFields(form: JobForm, field: Draw): TemplateResult {
  const e = t.automations.editor;
  if (form.kind === "every")
    return html`${field("every", e.every, { kind: "number", isRequired: true })}
    ${field("unit", e.unit, { choices: UNITS.map((ms) => [String(ms), e.units[ms]]) })}`;
  if (form.kind === "at")
    return field("at", e.at, { kind: "datetime-local", isRequired: true, hint: e.browserZone(browserZone()) });
  return html`${field("expr", e.expr, { isRequired: true, hint: e.exprHint })}
  ${field("tz", e.tz, { list: "job-zones", placeholder: e.tzPlaceholder })}`;
}

function deliveryFields(form: JobForm, field: Draw, flag: Flag, known: readonly string[]): TemplateResult {
  const e = t.automations.editor;
  const isTurn = form.payload === "agentTurn";
  const mode = !isTurn && form.delivery === "announce" ? "none" : form.delivery;
  const modes: Choices = [
    ...(isTurn ? ([["announce", e.deliveries.announce]] as const) : []),
    ["webhook", e.deliveries.webhook],
    ["none", e.deliveries.none],
  ];
  return html`<div class="pair">
      ${field("delivery", e.deliveryMode, { choices: modes })}
      ${
        mode === "announce"
          ? html`${field("channel", e.channel, { list: "job-channels", placeholder: e.lastChat })}
            ${field("to", e.to, { placeholder: e.toPlaceholder })}`
          : mode === "webhook"
            ? field("to", e.url, { placeholder: "https://", isRequired: true })
            : nothing
      }
    </div>
    ${mode === "announce" && known.length > 0 && form.channel === "" ? html`<small>${e.announceHint}</small>` : nothing}
    ${mode === "none" ? nothing : flag("bestEffort", e.bestEffort)}`;
}

/** Fields that few jobs need. */
function moreFields(form: JobForm, field: Draw, flag: Flag, job: CronJob | undefined): TemplateResult {
  const e = t.automations.editor;
  const isTurn = form.payload === "agentTurn";
  const modes: Choices = [
    ["announce", e.deliveries.announce],
    ["webhook", e.deliveries.webhook],
  ];
  const mayHaveNone = job?.delivery?.failureDestination === undefined;
  return html`<div class="pair">
      ${form.kind === "cron" ? field("stagger", e.stagger, { kind: "number", hint: e.staggerHint }) : nothing}
      ${form.kind === "every" ? field("anchor", e.anchor, { kind: "datetime-local", hint: e.anchorHint }) : nothing}
      ${field("overlap", e.overlap, {
        choices: [
          ["skip", e.overlaps.skip],
          ["queue", e.overlaps.queue],
          ["replace", e.overlaps.replace],
        ],
      })}
      ${field("catchUp", e.catchUp, {
        choices: [
          ["last", e.catchUps.last],
          ["all", e.catchUps.all],
          ["none", e.catchUps.none],
        ],
      })}
      ${form.catchUp === "all" ? field("catchUpHours", e.catchUpHours, { kind: "number" }) : nothing}
      ${field("wakeMode", e.wakeMode, {
        choices: [
          ["now", e.wakeModes.now],
          ["next-heartbeat", e.wakeModes["next-heartbeat"]],
        ],
      })}
      ${
        isTurn
          ? html`${field("sessionKey", e.sessionKey, { hint: e.sessionKeyHint })}
            ${job ? nothing : field("fallbacks", e.fallbacks, { hint: e.fallbacksHint })}`
          : nothing
      }
      ${isTurn && form.delivery === "announce" ? field("accountId", e.accountId) : nothing}
    </div>
    ${flag("deleteAfterRun", e.deleteAfterRun)} ${isTurn ? flag("lightContext", e.lightContext) : nothing}
    <div class="pair">
      ${field("alert", e.alert, {
        choices: [
          ...(job?.failureAlert === undefined ? ([["default", e.alerts.default]] as const) : []),
          ["own", e.alerts.own],
          ["off", e.alerts.off],
        ],
      })}
      ${
        form.alert === "own"
          ? html`${field("alertAfter", e.alertAfter, { kind: "number" })}
            ${field("alertCooldown", e.alertCooldown, { kind: "number" })}
            ${field("alertMode", e.deliveryMode, { choices: modes })}
            ${
              form.alertMode === "announce"
                ? html`${field("alertChannel", e.channel, { list: "job-channels" })}
                  ${field("alertAccountId", e.accountId)}`
                : nothing
            }
            ${field("alertTo", form.alertMode === "webhook" ? e.url : e.to)}`
          : nothing
      }
    </div>
    ${
      form.delivery === "none" || (!isTurn && form.delivery !== "webhook")
        ? nothing
        : html`<div class="pair">
            ${field("failureMode", e.failure, {
              choices: [...(mayHaveNone ? ([["", e.failureUsual]] as const) : []), ...modes],
            })}
            ${
              form.failureMode === "announce"
                ? html`${field("failureChannel", e.channel, { list: "job-channels" })}
                  ${field("failureAccountId", e.accountId)}`
                : nothing
            }
            ${form.failureMode === "" ? nothing : field("failureTo", form.failureMode === "webhook" ? e.url : e.to)}
          </div>`
    }`;
}

/** Whether a job has settings of the folded part. */
function isUnusual(job: CronJob | undefined): boolean {
  return job?.failureAlert !== undefined || job?.delivery?.failureDestination !== undefined;
}

function drawField(form: JobForm, name: Name, label: string, looks: Looks = {}): TemplateResult {
  const { hint, kind = "text", choices, list, placeholder = "", isRequired = false } = looks;
  const value = String(form[name]);
  const control = choices
    ? html`<select name=${name}>
        ${choices.map(([option, text]) => html`<option value=${option} ?selected=${option === value}>${text}</option>`)}
      </select>`
    : kind === "multiline"
      ? html`<textarea name=${name} rows="4" ?required=${isRequired} .value=${value}></textarea>`
      : html`<input
          name=${name}
          type=${kind}
          min=${kind === "number" ? 0 : nothing}
          step=${kind === "number" ? "any" : nothing}
          list=${list ?? nothing}
          placeholder=${placeholder}
          ?required=${isRequired}
          autocomplete="off"
          .value=${value}
        />`;
  return html`<label class="field">
    <span>${label}</span>${control}${hint === undefined ? nothing : html`<small>${hint}</small>`}
  </label>`;
}

function datalist(id: string, values: readonly string[]): TemplateResult {
  return html`<datalist id=${id}>${values.map((value) => html`<option value=${value}></option>`)}</datalist>`;
}

/** Known values, and the job's own one if it is none of them. */
function withOwn(values: readonly string[], own: string): Choices {
  const all = own === "" || values.includes(own) ? values : [...values, own];
  return all.map((value) => [value, value]);
}

function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
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

/** The next run times of the schedule in the form, from the gateway. */
function createPreview(context: ViewContext, job: CronJob | undefined, form: JobForm) {
  let redraw: (() => void) | undefined;
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
    redraw?.();
  }

  return {
    start(draw: () => void) {
      redraw = draw;
      void ask();
    },
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
