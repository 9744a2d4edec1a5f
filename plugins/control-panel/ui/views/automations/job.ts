/** One job: its settings, and its runs with how each ended, how long it took, what it said. */
import { cron, cronEvent, type CronJob, type CronRunEntry } from "@svc/sdk/cron";
import { html, nothing, type TemplateResult } from "lit";
import { ArrowLeft } from "lucide";
import { contextFor, type ViewContext } from "../../core/app.ts";
import { hrefOf } from "../../core/address.ts";
import { t } from "../../core/text.ts";
import { icon } from "../../parts/icon.ts";
import { badge, empty, facts, show } from "../../parts/show.ts";
import { ago, compact, duration } from "../../parts/time.ts";
import { folded } from "./folded.ts";
import { jobBadge, payloadText, runBadge, scheduleText } from "./job-text.ts";

const PAGE = 50;
const STATUSES = ["all", "ok", "error", "skipped"] as const;

/** What people can do with a job, drawn by the list as well. */
export interface JobControls {
  buttons(job: CronJob): TemplateResult | typeof nothing;
  onSwitch(job: CronJob): TemplateResult;
}

export function createJob(view: ViewContext, id: string, controls: JobControls) {
  const ended = new AbortController();
  view.signal.addEventListener("abort", () => ended.abort(), { signal: ended.signal });
  const context = contextFor(view, ended.signal);
  let status: (typeof STATUSES)[number] = "all";
  let limit = PAGE;
  const job = context.resource(async () => (await context.call(cron.list, { id })).jobs, { events: [cronEvent] });
  const list = context.resource(
    async () => {
      const entries: CronRunEntry[] = [];
      let total = 0;
      do {
        const page = await context.call(cron.runs, {
          scope: "job",
          id,
          status,
          limit: Math.min(limit - entries.length, 200),
          offset: entries.length,
        });
        entries.push(...page.entries);
        ({ total } = page);
        if (!page.hasMore) break;
      } while (entries.length < limit);
      return { entries, total };
    },
    { events: [cronEvent] },
  );

  const entry = (run: CronRunEntry): TemplateResult => {
    const text = run.error ?? run.summary ?? run.reason ?? "";
    const { sessionKey } = run;
    return html`<li class="run">
      <span class="how">
        ${runBadge(run)} ${run.manual === true ? badge(t.automations.byHand) : nothing}
        ${run.deliveryStatus === "not-delivered" ? badge(t.automations.notDelivered, "warning") : nothing}
      </span>
      <span class="quiet">${ago(run.runAtMs ?? run.dueAtMs ?? run.ts)}</span>
      <span class="quiet number">${run.durationMs === undefined ? "" : duration(run.durationMs)}</span>
      <span class="what break">
        ${folded(text)} ${run.deliveryError === undefined ? nothing : html`<small>${run.deliveryError}</small>`}
        ${run.slots === undefined ? nothing : html`<small>${t.automations.slots(run.slots)}</small>`}
        <small>
          ${run.model ?? ""}
          ${run.usage?.total_tokens === undefined ? "" : `· ${t.sessions.tokens(compact(run.usage.total_tokens))}`}
        </small>
      </span>
      <span class="buttons">
        ${
          sessionKey === undefined
            ? nothing
            : html`<a class="button" href=${hrefOf("chat", { session: sessionKey })}>${t.automations.conversation}</a>`
        }
      </span>
    </li>`;
  };

  const runs = (): TemplateResult =>
    html`<section class="card">
      <header>
        <h2>${t.automations.history}</h2>
        <span class="fill"></span>
        <select
          class="short"
          aria-label=${t.automations.show}
          @change=${(event: Event) => {
            status = (event.target as HTMLSelectElement).value as typeof status;
            limit = PAGE;
            void list.reload();
          }}
        >
          ${STATUSES.map(
            (value) =>
              html`<option value=${value} ?selected=${value === status}>
                ${value === "all" ? t.automations.allRuns : t.automations.outcomes[value]}
              </option>`,
          )}
        </select>
      </header>
      ${show(list, ({ entries, total }) =>
        entries.length === 0
          ? empty(t.automations.noRuns, t.automations.noRunsText)
          : html`<ul class="rows" aria-label=${t.automations.history}>
                ${entries.map(entry)}
              </ul>
              ${
                entries.length < total
                  ? html`<p class="centred">
                      <button
                        ?disabled=${list.isLoading}
                        @click=${() => {
                          limit += PAGE;
                          void list.reload();
                        }}
                      >
                        ${t.automations.showMore(total - entries.length)}
                      </button>
                    </p>`
                  : nothing
              }`,
      )}
    </section>`;

  return {
    id,
    end: () => ended.abort(),
    render: () =>
      html`<div>
          <button class="plain" @click=${() => view.go("automations", { tab: "jobs" })}>
            ${icon(ArrowLeft)}${t.automations.allJobs}
          </button>
        </div>
        ${show(job, ([found]) =>
          found ? settings(found, controls) : html`<p class="notice">${t.automations.removedJob}</p>`,
        )}
        ${runs()}`,
  };
}

function settings(job: CronJob, { buttons, onSwitch }: JobControls): TemplateResult {
  const { state, payload, delivery } = job;
  const turn = payload.kind === "agentTurn" ? payload : undefined;
  const e = t.automations.editor;
  const isBad = (state.lastRunStatus ?? state.lastStatus) === "error";
  return html`<section class="card">
    <header>
      ${onSwitch(job)}
      <h2 class="break">${job.name}</h2>
      ${jobBadge(job) ?? nothing}
      <span class="fill"></span>
      ${buttons(job)}
    </header>
    ${job.description === undefined ? nothing : html`<p class="quiet break">${job.description}</p>`}
    ${isBad && state.lastError !== undefined ? html`<p class="notice bad">${state.lastError}</p>` : nothing}
    ${facts([
      [e.when, scheduleText(job.schedule)],
      [t.automations.nextRun, state.nextRunAtMs === undefined ? undefined : ago(state.nextRunAtMs)],
      [e.payload, e.payloads[payload.kind]],
      [turn ? e.message : e.text, html`<span class="text">${payloadText(job)}</span>`],
      [e.agent, job.agentId],
      [e.model, turn?.model],
      [e.fallbacks, turn?.fallbacks?.join(", ")],
      [e.thinking, turn?.thinking],
      [
        e.delivery,
        delivery && delivery.mode !== "none"
          ? [e.deliveries[delivery.mode], delivery.channel, delivery.to].filter(Boolean).join(" · ")
          : undefined,
      ],
      [t.automations.lastDelivery, state.lastDeliveryError],
      [t.automations.inARowLabel, state.consecutiveErrors === 0 ? undefined : state.consecutiveErrors],
      [e.deleteAfterRun, job.deleteAfterRun === true ? t.common.yes : undefined],
    ])}
  </section>`;
}
