/** The scheduled jobs, and what people do with them. */
import { cron, cronEvent, type CronJob } from "@svc/sdk/cron";
import { html, nothing, type TemplateResult } from "lit";
import { CalendarClock, CircleStop, Pencil, Play, Plus, Trash2 } from "lucide";
import type { ViewContext } from "../../core/app.ts";
import { hrefOf } from "../../core/address.ts";
import { t } from "../../core/text.ts";
import { confirm } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { searchField } from "../../parts/search.ts";
import { empty, failed, show } from "../../parts/show.ts";
import { ago } from "../../parts/time.ts";
import { attempt, toast } from "../../parts/toast.ts";
import { editJob } from "./job-editor.ts";
import { type JobForm, localInput } from "./job-form.ts";
import { createJob } from "./job.ts";
import { jobBadge, scheduleText } from "./job-text.ts";
import { createSwitches } from "./switches.ts";

/** Rows that the gateway gives at once. */
const PAGE = 200;

export function createJobs(context: ViewContext): { render(): TemplateResult } {
  const mayChange = context.may("operator.admin");
  let query = "";
  let only: "all" | "enabled" | "disabled" = "all";
  let wanted = PAGE;
  const list = context.resource(loadJobs, { events: [cronEvent], everyMs: 60_000 });
  const status = context.resource(() => context.call(cron.status, {}), { events: [cronEvent] });
  let one: ReturnType<typeof createJob> | undefined;

  async function loadJobs(): Promise<{ readonly jobs: readonly CronJob[]; readonly total: number }> {
    const jobs: CronJob[] = [];
    let total = 0;
    do {
      const page = await context.call(cron.list, {
        enabled: only,
        includeDisabled: true,
        limit: PAGE,
        offset: jobs.length,
        ...(query.trim() === "" ? {} : { query: query.trim() }),
      });
      jobs.push(...page.jobs);
      ({ total } = page);
      if (!page.hasMore) break;
    } while (jobs.length < wanted);
    return { jobs, total };
  }

  const edit = async (start: Parameters<typeof editJob>[1]) => {
    const saved = await editJob(context, start);
    if (!saved) return;
    toast(t.automations.saved(saved.name), "good");
    await list.reload();
  };

  /** The gateway answers when the run has ended, which may take an hour. */
  const run = (job: CronJob) => {
    toast(t.automations.started(job.name));
    void attempt(async () => {
      const { ran, reason } = await context.call(cron.run, { id: job.id }, { timeoutMs: 0 });
      if (!ran && reason !== undefined) toast(t.automations.notRun[reason], "warning");
    });
  };

  const remove = async (job: CronJob) => {
    const isRemoved = await confirm({
      title: t.automations.deleteOf(job.name),
      text: t.automations.deleteText,
      action: t.common.delete,
      isDangerous: true,
      work: () => context.call(cron.remove, { id: job.id }),
    });
    if (!isRemoved) return;
    await list.reload();
    if (context.place.params.has("job")) context.go("automations", { tab: "jobs" }, { replace: true });
  };

  const stop = (job: CronJob) => () =>
    attempt(() => context.call(cron.cancel, { id: job.id }), t.automations.stopped(job.name));

  const buttons = (job: CronJob): TemplateResult | typeof nothing => {
    if (!mayChange) return nothing;
    const button = (label: string, title: string, symbol: TemplateResult, work: () => unknown) =>
      html`<button class="plain" aria-label=${label} title=${title} @click=${work}>${symbol}</button>`;
    const a = t.automations;
    return html`<span class="buttons">
      ${
        job.state.runningAtMs === undefined
          ? button(a.runOf(job.name), a.run, icon(Play), () => run(job))
          : button(a.stopOf(job.name), a.stop, icon(CircleStop), stop(job))
      }
      ${button(a.editOf(job.name), a.edit, icon(Pencil), () => edit({ job }))}
      ${button(a.deleteOf(job.name), t.common.delete, icon(Trash2), () => remove(job))}
    </span>`;
  };

  const switchOf = createSwitches(
    context,
    (id, enabled) => context.call(cron.update, { id, patch: { enabled } }),
    () => list.reload(),
  );
  const onSwitch = ({ id, name, enabled }: CronJob) => switchOf(id, name, enabled);

  const row = (job: CronJob): TemplateResult =>
    html`<li class="job">
      ${onSwitch(job)}
      <span class="name">
        <a class="ellipsis" href=${hrefOf("automations", { tab: "jobs", job: job.id })}>${job.name}</a>
        <small class="ellipsis">${scheduleText(job.schedule)}</small>
      </span>
      <span class="next">
        <small>${t.automations.nextRun}</small>
        ${job.state.nextRunAtMs === undefined ? html`<span class="quiet">–</span>` : ago(job.state.nextRunAtMs)}
      </span>
      <span class="last">
        ${jobBadge(job) ?? html`<span class="quiet">${t.automations.neverRan}</span>`}
        ${job.state.lastRunAtMs === undefined ? nothing : html`<span class="quiet">${ago(job.state.lastRunAtMs)}</span>`}
        ${
          (job.state.consecutiveErrors ?? 0) > 1
            ? html`<small>${t.automations.inARow(job.state.consecutiveErrors ?? 0)}</small>`
            : nothing
        }
      </span>
      ${buttons(job)}
    </li>`;

  const reloadFirst = () => {
    wanted = PAGE;
    void list.reload();
  };
  let typing: ReturnType<typeof setTimeout> | undefined;

  const toolbar = (total: number) =>
    html`<div class="toolbar">
      ${searchField(
        query,
        (text) => {
          query = text;
          clearTimeout(typing);
          typing = setTimeout(reloadFirst, 200);
        },
        t.automations.searchJobs,
      )}
      <select
        aria-label=${t.automations.show}
        @change=${(event: Event) => {
          only = (event.target as HTMLSelectElement).value as typeof only;
          reloadFirst();
        }}
      >
        ${(["all", "enabled", "disabled"] as const).map(
          (value) => html`<option value=${value} ?selected=${value === only}>${t.automations.filters[value]}</option>`,
        )}
      </select>
      <span class="quiet" role="status">${t.automations.count(total)}</span>
      <span class="fill"></span>
      ${
        mayChange
          ? html`<button class="primary" @click=${() => edit({ values: {} })}>
              ${icon(Plus)}${t.automations.newJob}
            </button>`
          : nothing
      }
    </div>`;

  const templates = () =>
    html`<div class="grid templates">
      ${templateJobs().map(
        ({ title, text, values }) =>
          html`<button class="card template" @click=${() => edit({ values })}>
            <strong>${title}</strong><span class="quiet">${text}</span>
          </button>`,
      )}
    </div>`;

  const all = (jobs: readonly CronJob[], total: number): TemplateResult => {
    const isFiltered = query.trim() !== "" || only !== "all";
    if (total === 0 && !isFiltered)
      return mayChange
        ? html`${empty(t.automations.none, t.automations.noneText)} ${templates()}
            <p class="centred">
              <button @click=${() => edit({ values: {} })}>${icon(Plus)}${t.automations.emptyJob}</button>
            </p>`
        : empty(t.automations.none);
    return html`${toolbar(total)}
    ${
      jobs.length === 0
        ? empty(t.automations.noMatch)
        : html`<ul class="rows" aria-label=${t.automations.tabs.jobs}>
            ${jobs.map(row)}
          </ul>`
    }
    ${
      jobs.length < total
        ? html`<p class="centred">
            <button
              ?disabled=${list.isLoading}
              @click=${() => {
                wanted = jobs.length + PAGE;
                void list.reload();
              }}
            >
              ${t.automations.showMore(total - jobs.length)}
            </button>
          </p>`
        : nothing
    }`;
  };

  return {
    render() {
      const id = context.place.params.get("job");
      if (one && one.id !== id) {
        one.end();
        one = undefined;
      }
      if (id !== null) return (one ??= createJob(context, id, { buttons, onSwitch })).render();
      const { value } = status;
      return html`${
        value && !value.enabled
          ? html`<p class="notice warning">${icon(CalendarClock)}<span>${t.automations.schedulerOff}</span></p>`
          : nothing
      }
      ${status.error !== undefined && list.error === undefined ? failed(status.error) : nothing}
      ${show(list, ({ jobs, total }) => all(jobs, total))}`;
    },
  };
}

/** Jobs to begin with. */
function templateJobs(): readonly { title: string; text: string; values: Partial<JobForm> }[] {
  const { templates } = t.automations;
  const inAnHour = localInput(Date.now() + 3_600_000);
  return [
    { ...templates.morning, values: { ...templates.morning.job, kind: "cron", expr: "0 8 * * *" } },
    { ...templates.week, values: { ...templates.week.job, kind: "cron", expr: "0 16 * * 5" } },
    {
      ...templates.reminder,
      values: { ...templates.reminder.job, kind: "at", at: inAnHour, payload: "systemEvent", deleteAfterRun: true },
    },
    {
      ...templates.watch,
      values: { ...templates.watch.job, kind: "every", every: "30", unit: "60000" },
    },
  ];
}
