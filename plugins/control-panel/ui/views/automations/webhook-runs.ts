/** Accepted webhooks: find one, see what became of it, accept a failed one again. */
import type { ResultOf } from "@svc/sdk";
import { webhooks, type WebhookRun } from "@svc/sdk/webhooks";
import { html, nothing, type TemplateResult } from "lit";
import { RotateCcw } from "lucide";
import type { ViewContext } from "../../core/app.ts";
import { hrefOf } from "../../core/address.ts";
import { t } from "../../core/text.ts";
import { openDialog } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { badge, empty, facts, failed, show, type Tone, waiting } from "../../parts/show.ts";
import { absolute, ago, duration } from "../../parts/time.ts";
import { attempt } from "../../parts/toast.ts";
import { folded } from "./folded.ts";
import { values } from "./webhook-try.ts";

const PAGE = 50;
const MOST = 1_000;
/** Webhooks have no event. */
const EVERY_MS = 5_000;
const STATUSES = ["queued", "running", "done", "failed"] as const;
type Status = (typeof STATUSES)[number];
const TONES: Readonly<Record<Status, Tone>> = { queued: "neutral", running: "accent", done: "good", failed: "bad" };

/** @param mappings ids for the filter */
export function createHookRuns(context: ViewContext, mappings: () => readonly string[]) {
  let status: Status | "" = "";
  let mapping = "";
  let limit = PAGE;
  const list = context.resource(
    async () =>
      (
        await context.call(webhooks.runs, {
          limit,
          ...(status === "" ? {} : { status }),
          ...(mapping === "" ? {} : { mapping }),
        })
      ).runs,
    { everyMs: EVERY_MS },
  );
  const mayReplay = context.may("operator.admin");

  const replay = async (run: WebhookRun) => {
    const isDone = await attempt(
      () => context.call(webhooks.replay, { runId: run.runId }),
      t.automations.hooks.replayed,
    );
    if (isDone) await list.reload();
    return isDone;
  };

  const row = (run: WebhookRun): TemplateResult => {
    const w = t.automations.hooks;
    const took = run.endedAt !== undefined && run.startedAt !== undefined ? run.endedAt - run.startedAt : undefined;
    return html`<li class="run">
      <span class="how">${badge(w.statuses[run.status], TONES[run.status])}</span>
      <span class="quiet">${ago(run.acceptedAt)}</span>
      <span class="quiet number">${took === undefined ? "" : duration(took)}</span>
      <span class="what break">
        <button class="link" aria-label=${w.detailsOf(run.mapping)} @click=${() => details(run)}>${run.mapping}</button>
        <small>${run.action}${run.attempts > 1 ? ` · ${w.attempts(run.attempts)}` : ""}</small>
        ${folded(run.reason ?? run.summary ?? "")}
      </span>
      <span class="buttons">
        ${
          mayReplay && canReplay(run)
            ? html`<button @click=${() => replay(run)}>${icon(RotateCcw)}${w.replay}</button>`
            : nothing
        }
      </span>
    </li>`;
  };

  const details = async (run: WebhookRun) => {
    let loaded: ResultOf<typeof webhooks.run> | undefined;
    await openDialog({
      title: t.automations.hooks.detailsOf(run.mapping),
      isWide: true,
      load: async () => {
        loaded = await context.call(webhooks.run, { runId: run.runId });
      },
      body: ({ close, error }) => {
        const again = async () => {
          if (await replay(run)) close();
        };
        const content = error === undefined ? (loaded ? oneRun(loaded) : waiting()) : failed(error);
        return html`<div class="content">${content}</div>
          <footer>
            ${mayReplay && canReplay(run) ? html`<button @click=${again}>${t.automations.hooks.replay}</button>` : nothing}
            <button class="primary" autofocus @click=${() => close()}>${t.common.close}</button>
          </footer>`;
      },
    });
  };

  const choose = (set: (value: string) => void) => (event: Event) => {
    set((event.target as HTMLSelectElement).value);
    limit = PAGE;
    void list.reload();
  };

  return {
    render(): TemplateResult {
      const w = t.automations.hooks;
      return html`<section class="card">
        <header>
          <h2>${w.runs}</h2>
          <span class="fill"></span>
          <select class="short" aria-label=${w.status} @change=${choose((value) => (status = value as Status | ""))}>
            <option value="">${w.allStatuses}</option>
            ${STATUSES.map((one) => html`<option value=${one} ?selected=${one === status}>${w.statuses[one]}</option>`)}
          </select>
          <select class="short" aria-label=${w.mapping} @change=${choose((value) => (mapping = value))}>
            <option value="">${w.allMappings}</option>
            ${mappings().map((id) => html`<option value=${id} ?selected=${id === mapping}>${id}</option>`)}
          </select>
        </header>
        ${show(list, (runs) =>
          runs.length === 0
            ? status === "" && mapping === ""
              ? empty(w.noRuns, w.noRunsText)
              : empty(w.noMatch)
            : html`<ul class="rows" aria-label=${w.runs}>
                  ${runs.map(row)}
                </ul>
                ${
                  runs.length === limit && limit < MOST
                    ? html`<p class="centred">
                        <button
                          ?disabled=${list.isLoading}
                          @click=${() => {
                            limit = Math.min(MOST, limit * 4);
                            void list.reload();
                          }}
                        >
                          ${t.common.more}
                        </button>
                      </p>`
                    : nothing
                }`,
        )}
      </section>`;
    },
  };
}

function canReplay({ status, replayedAs }: WebhookRun): boolean {
  return status === "failed" && replayedAs === undefined;
}

function oneRun({ run, params }: ResultOf<typeof webhooks.run>): TemplateResult {
  const w = t.automations.hooks;
  const time = (at: number | undefined) => (at === undefined ? undefined : absolute(at));
  const { sessionKey } = run;
  return html`${run.reason === undefined ? nothing : html`<p class="notice bad break">${run.reason}</p>`}
  ${facts([
    [w.status, badge(w.statuses[run.status], TONES[run.status])],
    [w.action, run.action],
    [w.accepted, time(run.acceptedAt)],
    [w.startedAt, time(run.startedAt)],
    [w.endedAt, time(run.endedAt)],
    [w.attemptsLabel, run.attempts],
    [w.nextAttempt, time(run.nextAttemptAt)],
    [w.summary, run.summary],
    [
      w.session,
      sessionKey === undefined ? undefined : html`<a href=${hrefOf("chat", { session: sessionKey })}>${sessionKey}</a>`,
    ],
    [w.replayOf, run.replayOf],
    [w.replayedAs, run.replayedAs],
    [w.runId, html`<code>${run.runId}</code>`],
  ])}
  ${
    params
      ? html`<h3>${w.fields}</h3>
          ${values(params)}`
      : html`<p class="quiet">${w.noFields}</p>`
  }
  ${
    run.details
      ? html`<h3>${w.resultDetails}</h3>
          ${values(run.details)}`
      : nothing
  }`;
}
