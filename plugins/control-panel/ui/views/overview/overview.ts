/** How the gateway is doing: what needs a person, with the way to mend it, and the most important facts. */
import { channels } from "@svc/sdk/channels";
import { chatEvent } from "@svc/sdk/chat";
import { cron, cronEvent } from "@svc/sdk/cron";
import { health, healthEvent, presenceEvent } from "@svc/sdk/health";
import { models } from "@svc/sdk/models";
import { panel, type PanelCardEntry } from "@svc/sdk/panel";
import { sessions } from "@svc/sdk/sessions";
import { storage } from "@svc/sdk/storage";
import { updateAvailable } from "@svc/sdk/update";
import { usage } from "@svc/sdk/usage";
import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { ArrowRight, CheckCircle2, CircleAlert, Info, MessageSquare, Radio, TriangleAlert, WandSparkles } from "lucide";
import { hrefOf } from "../../core/address.ts";
import type { OpenView } from "../../core/app.ts";
import type { Resource } from "../../core/resource.ts";
import { t } from "../../core/text.ts";
import { command } from "../../parts/command.ts";
import { icon } from "../../parts/icon.ts";
import { badge, empty, facts, show } from "../../parts/show.ts";
import { ago, bytes, compact, dollars, duration, shortDuration, utcOffset } from "../../parts/time.ts";
import { titleOf } from "../../parts/session.ts";
import { type Need, watchNeeds } from "./attention.ts";
import "./overview.css";

/** Rows of a list in a card. */
const ROWS = 5;
const EVERY_MS = 30_000;
const SYMBOLS = { bad: CircleAlert, warning: TriangleAlert, info: Info } as const;

export default ((context) => {
  const { serves } = context;
  const given = <T>(isServed: boolean, load: () => Promise<T>, options: Parameters<typeof context.resource>[1]) =>
    isServed ? context.resource(load, options) : undefined;

  const watched = watchNeeds(context);
  const summary = given(serves(health.check), () => context.call(health.check, {}), {
    events: [healthEvent],
    everyMs: EVERY_MS,
  });
  const gateway = given(
    serves(health.status),
    async () => {
      const [{ process }, presence] = await Promise.all([
        context.call(health.status, {}),
        context.call(health.presence, {}),
      ]);
      return { process, connections: presence.filter(({ reason }) => reason !== "self").length };
    },
    { events: [presenceEvent], everyMs: EVERY_MS },
  );
  // The method is not advertised. Without its plugin, the fact is missing.
  const disk = context.resource(() => context.call(storage.usage, {}).catch(() => undefined), { everyMs: 600_000 });
  const recent = given(
    serves(sessions.list),
    () => context.call(sessions.list, { limit: ROWS, includeDerivedTitles: true }),
    { events: [chatEvent], everyMs: 60_000 },
  );
  const jobs = given(serves(cron.list), () => context.call(cron.list, { enabled: "enabled", limit: ROWS }), {
    events: [cronEvent],
    everyMs: 60_000,
  });
  const today = given(serves(usage.cost), () => context.call(usage.cost, todayRange()), { everyMs: 60_000 });
  const cards = given(serves(panel.cards), () => context.call(panel.cards, {}), { everyMs: 60_000 });
  const begin = context.resource(
    async () => {
      const [ofChannels, ofModels] = await Promise.all([
        serves(channels.status) ? context.call(channels.status, {}) : undefined,
        serves(models.list) ? context.call(models.status, {}) : undefined,
      ]);
      const used = ofModels?.default;
      return {
        model: ofModels
          ? used !== undefined && ofModels.providers.find(({ name }) => used.startsWith(`${name}/`))?.api !== "offline"
          : undefined,
        channel: ofChannels ? Object.values(ofChannels.channels).some(({ configured }) => configured) : undefined,
      };
    },
    { everyMs: EVERY_MS },
  );

  let newer = newerVersion(context.connection.client?.hello.snapshot);
  context.on(updateAvailable, ({ updateAvailable: version }) => {
    newer = version?.latestVersion;
    context.redraw();
  });
  context.onFresh(() => (newer = newerVersion(context.connection.client?.hello.snapshot)));

  const link = (view: string, text: string | TemplateResult, params: Readonly<Record<string, string>> = {}) =>
    html`<a class="ellipsis" href=${hrefOf(view, params)}>${text}</a>`;

  const need = ({ severity, text, detail, view, params = {}, command: line }: Need): TemplateResult =>
    html`<li class="need ${severity}">
      ${icon(SYMBOLS[severity])}
      <div>
        <p class="break"><span class="unseen">${t.overview.severities[severity]}: </span>${text}</p>
        ${detail === undefined || detail === "" ? nothing : html`<small class="detail">${detail}</small>`}
        ${line === undefined ? nothing : command(line)}
      </div>
      ${
        view === undefined
          ? nothing
          : html`<button @click=${() => context.go(view, params)}>
              ${t.views[view as keyof typeof t.views]}${icon(ArrowRight)}
            </button>`
      }
    </li>`;

  const attention = (): TemplateResult => {
    const isNew = startsHere();
    const all = [
      // The steps of the beginning say the same.
      ...watched.needs.filter(({ text }) => !(isNew && text === t.overview.onlyOffline)),
      ...(newer === undefined
        ? []
        : [{ severity: "info", text: t.overview.update(newer), command: "svc update" } satisfies Need]),
    ];
    const checking = watched.isComplete
      ? nothing
      : html`<p class="waiting-line quiet" role="status"><span class="spinner"></span>${t.overview.checking}</p>`;
    if (all.length === 0 && !watched.isComplete) return html`${checking}`;
    if (all.length === 0)
      return isNew ? html`` : html`<p class="notice good">${icon(CheckCircle2)}<span>${t.overview.allGood}</span></p>`;
    return html`<section class="card">
      <header><h2>${t.overview.attention}</h2></header>
      <ul class="needs" aria-label=${t.overview.attention}>
        ${repeat(all, ({ text, detail = "" }) => `${text}\n${detail}`, need)}
      </ul>
      ${checking}
    </section>`;
  };

  /** Whether nothing is set up yet. */
  const startsHere = () => {
    const { value } = begin;
    return value?.model === false && value.channel !== true;
  };

  const start = (): TemplateResult | typeof nothing => {
    const { value } = begin;
    if (!startsHere() || !value) return nothing;
    const o = t.overview.start;
    const steps = [
      { view: "chat", symbol: MessageSquare, isDone: recent && (recent.value?.count ?? 0) > 0, ...o.hello },
      { view: "setup", symbol: WandSparkles, isDone: value.model, ...o.model },
      { view: "channels", symbol: Radio, isDone: value.channel, ...o.channel },
    ].filter(({ view, isDone }) => isDone !== undefined && (view !== "setup" || context.may("operator.admin")));
    return html`<section class="card">
      <header><h2>${o.title}</h2></header>
      <p class="quiet">${o.text}</p>
      <ol class="start">
        ${steps.map(
          ({ view, symbol, isDone, title, text, action }) =>
            html`<li class="card">
              <header>
                ${icon(symbol)}
                <h3>${title}</h3>
                ${isDone === true ? badge(o.done, "good") : nothing}
              </header>
              <p class="quiet">${text}</p>
              <div class="actions">
                <button class=${isDone === true ? "" : "primary"} @click=${() => context.go(view)}>${action}</button>
              </div>
            </li>`,
        )}
      </ol>
    </section>`;
  };

  /** A card with data of its own: its failure shows only here. */
  const card = <T>(title: string, resource: Resource<T> | undefined, draw: (value: T) => TemplateResult) =>
    resource === undefined
      ? nothing
      : html`<section class="card">
          <header><h2>${title}</h2></header>
          ${show(resource, draw)}
        </section>`;

  const ofGateway = (): TemplateResult => {
    const { server, snapshot } = context.connection.client?.hello ?? {};
    const now = gateway?.value;
    const startedAt = now?.process?.startedAtMs;
    return html`<section class="card">
      <header>
        <h2>${t.overview.gateway}</h2>
        ${
          summary?.value === undefined
            ? nothing
            : summary.value.ok
              ? badge(t.overview.healthy, "good")
              : badge(t.overview.unhealthy, "bad")
        }
      </header>
      ${facts([
        [t.overview.version, server?.version],
        [t.overview.uptime, startedAt === undefined ? undefined : duration(Date.now() - startedAt)],
        [t.overview.auth, snapshot?.authMode],
        [t.overview.connections, now?.connections],
        [t.overview.memory, now?.process ? bytes(now.process.rssBytes) : undefined],
        [t.overview.storage, disk.value ? bytes(disk.value.bytes) : undefined],
        [t.overview.missing, summary?.value?.missingPlugins.join(", ")],
        [t.overview.heartbeats, summary?.value ? heartbeats(summary.value.heartbeatSeconds) : undefined],
        [
          t.overview.configFile,
          snapshot?.configPath === undefined ? undefined : html`<code>${snapshot.configPath}</code>`,
        ],
      ])}
      ${gateway?.error === undefined ? nothing : show(gateway, () => nothing)}
    </section>`;
  };

  const pluginCard = ({ plugin, title, content, error }: PanelCardEntry): TemplateResult =>
    html`<section class="card" data-plugin=${plugin}>
      <header><h2 class="break">${title}</h2></header>
      ${error === undefined ? nothing : html`<p class="notice bad break" role="alert">${icon(CircleAlert)}<span>${error}</span></p>`}
      ${
        content
          ? html`${facts(
              content.rows.map(({ label, value, tone = "neutral" }) => [
                label,
                tone === "neutral" ? value : html`<span class="tone ${tone}">${value}</span>`,
              ]),
            )}
            ${content.text === undefined ? nothing : html`<p class="text">${content.text}</p>`}
            ${content.page === undefined ? nothing : html`<p>${link("page", t.overview.openPage, { id: content.page })}</p>`}`
          : nothing
      }
      <small>${t.overview.from(plugin)}</small>
    </section>`;

  return {
    render: () =>
      html`<div class="view overview">
        <header><h1>${t.overview.title}</h1></header>
        ${start()} ${attention()}
        <div class="grid">
          ${ofGateway()}
          ${card(t.overview.sessions, recent, ({ sessions: rows }) =>
            rows.length === 0
              ? empty(t.sessions.none)
              : html`<ul class="lines">
                  ${rows.map(
                    (row) =>
                      html`<li>
                        ${link("chat", titleOf(row), { session: row.key })}<span class="quiet"
                          >${ago(row.updatedAt)}</span
                        >
                      </li>`,
                  )}
                </ul>`,
          )}
          ${card(t.overview.jobs, jobs, ({ jobs: rows }) => {
            const due = rows.filter(({ state }) => state.nextRunAtMs !== undefined);
            return due.length === 0
              ? empty(t.overview.noJobs, undefined, html`<p>${link("automations", t.views.automations)}</p>`)
              : html`<ul class="lines">
                  ${due.map(
                    ({ id, name, state }) =>
                      html`<li>
                        ${link("automations", name, { tab: "jobs", job: id })}<span class="quiet"
                          >${ago(state.nextRunAtMs)}</span
                        >
                      </li>`,
                  )}
                </ul>`;
          })}
          ${card(t.overview.today, today, ({ totals }) =>
            totals.totalTokens === 0
              ? empty(t.overview.noUsage)
              : html`${facts([
                    [t.overview.tokens, compact(totals.totalTokens)],
                    [t.overview.cost, dollars(totals.totalCost)],
                    [t.overview.unpriced, totals.missingCostEntries === 0 ? undefined : totals.missingCostEntries],
                  ])}
                  <p>${link("usage", t.views.usage)}</p>`,
          )}
          ${cards?.value?.cards.map(pluginCard) ?? nothing}
          ${cards?.error === undefined ? nothing : card(t.overview.pluginCards, cards, () => html``)}
        </div>
      </div>`,
  };
}) satisfies OpenView;

function heartbeats(seconds: number): string {
  return seconds === 0 ? t.common.off : t.automations.everyText(shortDuration(seconds * 1_000));
}

/** The newer version that the gateway knows; asking costs nothing, since the handshake says it. */
function newerVersion(snapshot: unknown): string | undefined {
  const { updateAvailable: known } = Object(snapshot) as { updateAvailable?: { latestVersion?: unknown } };
  return typeof known?.latestVersion === "string" ? known.latestVersion : undefined;
}

/** The current day of this browser. */
function todayRange() {
  const now = new Date();
  const date = new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
  return { startDate: date, endDate: date, mode: "specific", utcOffset: utcOffset() };
}
