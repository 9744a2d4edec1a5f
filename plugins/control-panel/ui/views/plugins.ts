/** Plugins of the gateway: their state and what they use; details, install, update, switch, reload, remove. */
import type { ResultOf } from "@svc/sdk";
import { plugins, type PluginReport, type PluginStats } from "@svc/sdk/plugins";
import { html, nothing, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { Moon, Plus, Stethoscope } from "lucide";
import { hrefOf } from "../core/address.ts";
import type { OpenView } from "../core/app.ts";
import { named, t } from "../core/text.ts";
import { openDialog } from "../parts/dialog.ts";
import { icon } from "../parts/icon.ts";
import { moveInRows } from "../parts/row-keys.ts";
import { rows } from "../parts/rows.ts";
import { searchField } from "../parts/search.ts";
import { badge, empty, failed, show, type Tone, waiting } from "../parts/show.ts";
import { bytes, duration } from "../parts/time.ts";
import { matcher } from "../parts/words.ts";
import { createPluginDetail } from "./plugins/detail.ts";
import { installPlugin } from "./plugins/install.ts";
import "./plugins.css";

const REFRESH_MS = 5_000;
const FILTERS = ["", "problems", "active", "asleep", "disabled"] as const;
type FilterName = (typeof FILTERS)[number];

const isProblem = ({ state, errors }: PluginReport) => (state !== "active" && state !== "disabled") || errors > 0;
const PASSES: Readonly<Record<FilterName, (plugin: PluginReport) => boolean>> = {
  "": () => true,
  problems: isProblem,
  active: ({ state }) => state === "active",
  asleep: ({ asleep }) => asleep === true,
  disabled: ({ state }) => state === "disabled",
};
const TONES: Readonly<Record<string, Tone>> = {
  active: "good",
  disabled: "neutral",
  pending: "warning",
  reloading: "warning",
};

export default ((context) => {
  const list = context.resource(() => context.call(plugins.list, { includeStats: true }), { everyMs: REFRESH_MS });
  const mayChange = context.may("operator.admin");
  let search = "";
  let filter: FilterName = "";
  const open = (id: string | undefined) => context.go("plugins", { id });
  const detail = createPluginDetail(context, {
    changed: () => list.reload(),
    close: () => open(undefined),
  });

  function found(all: readonly PluginReport[]): readonly PluginReport[] {
    const matches = matcher(search);
    return all
      .filter(PASSES[filter])
      .filter(({ id, reason = "", state }) => matches(`${id} ${reason} ${state}`))
      .toSorted((a, b) => Number(isProblem(b)) - Number(isProblem(a)));
  }

  function doctor(): void {
    let findings: ResultOf<typeof plugins.doctor>["findings"] | undefined;
    const load = async () => {
      ({ findings } = await context.call(plugins.doctor, {}));
    };
    const finding = ({ severity, about, message, next }: NonNullable<typeof findings>[number]) =>
      html`<div class="notice ${severity === "error" ? "bad" : "warning"}">
        <div>
          <p><strong>${about}</strong> ${message}</p>
          <p class="next">${t.common.next}: ${next}</p>
        </div>
      </div>`;
    void openDialog({
      title: t.plugins.doctor,
      isWide: true,
      load,
      body: ({ close, run, isBusy, error }) =>
        html`<div class="content">
            ${
              error !== undefined
                ? failed(error, () => void run(load))
                : isBusy || !findings
                  ? waiting()
                  : findings.length === 0
                    ? html`<p class="notice good">${t.plugins.healthy}</p>`
                    : findings.map(finding)
            }
          </div>
          <footer><button class="primary" autofocus @click=${() => close()}>${t.common.close}</button></footer>`,
    });
  }

  const draw = (plugin: PluginReport, stats: PluginStats | undefined): TemplateResult => {
    const { id, version, state, reason, asleep, placement = "host", errors } = plugin;
    const { memoryBytes = null, p50Ms = null } = stats ?? {};
    return html`<article class="plugin ${context.place.params.get("id") === id ? "chosen" : ""}">
      <span class="name">
        <a href=${hrefOf("plugins", { id })} class="ellipsis" data-focus>${id}</a>
        <small>${version}</small>
      </span>
      <span class="state">
        ${badge(named(t.plugins.states, state), TONES[state] ?? "bad")}
        ${asleep === true ? html`<span class="badge" title=${t.plugins.asleepText}>${icon(Moon)}${t.plugins.asleep}</span>` : nothing}
      </span>
      <span class="quiet ellipsis why" title=${reason ?? ""}>${reason ?? ""}</span>
      <span class="quiet fact">${t.plugins.placements[placement]}</span>
      <span class="quiet number fact" title=${t.plugins.memory}>${memoryBytes === null ? "" : bytes(memoryBytes)}</span>
      <span class="quiet number fact" title=${t.plugins.latency}>${p50Ms === null ? "" : duration(p50Ms)}</span>
      <span class="number errors">${errors === 0 ? nothing : badge(t.plugins.errors(errors), "bad")}</span>
    </article>`;
  };

  return {
    render() {
      const { plugins: all = [], stats = {} } = list.value ?? {};
      const items = found(all);
      const id = context.place.params.get("id");
      const chosen = id === null ? undefined : all.find((plugin) => plugin.id === id);
      return html`<div class="view full plugins">
        <header class="toolbar">
          <h1>${t.plugins.title}</h1>
          ${searchField(search, (text) => {
            search = text;
            context.redraw();
          })}
          <select
            aria-label=${t.plugins.filter}
            title=${t.plugins.filter}
            @change=${(event: Event) => {
              filter = (event.target as HTMLSelectElement).value as FilterName; // an option of this select
              context.redraw();
            }}
          >
            ${FILTERS.map((name) => html`<option value=${name}>${t.plugins.filters[name === "" ? "all" : name]}</option>`)}
          </select>
          <span class="quiet" role="status">${list.value ? t.plugins.count(items.length, all.length) : ""}</span>
          <span class="fill"></span>
          ${
            mayChange
              ? html`<button @click=${doctor}>${icon(Stethoscope)}${t.plugins.doctor}</button>
                  <button
                    class="primary"
                    @click=${async () => {
                      const done = await installPlugin(context);
                      await list.reload();
                      if (done) open(done.id);
                    }}
                  >
                    ${icon(Plus)}${t.plugins.install}
                  </button>`
              : nothing
          }
        </header>
        ${show(
          list,
          () =>
            html`<div class="with-detail ${chosen ? "open" : ""}">
              ${
                items.length === 0
                  ? empty(t.plugins.noMatch)
                  : html`<div class="listed ${chosen ? "beside" : ""}">
                      <div class="plugin head" aria-hidden="true">
                        <span>${t.plugins.plugin}</span><span>${t.plugins.state}</span
                        ><span class="why">${t.plugins.reason}</span
                        ><span class="fact">${t.plugins.names.placement}</span
                        ><span class="fact number">${t.plugins.memory}</span
                        ><span class="fact number">${t.plugins.perCall}</span><span></span>
                      </div>
                      ${keyed(
                        `${filter} ${search}`,
                        html`<svc-rows
                          @keydown=${(event: KeyboardEvent) => moveInRows(event, items.length)}
                          .list=${rows({
                            items,
                            key: (plugin) => plugin.id,
                            row: (plugin) => draw(plugin, stats[plugin.id]),
                            height: 45,
                            label: t.plugins.title,
                          })}
                        ></svc-rows>`,
                      )}
                    </div>`
              }
              ${chosen ? detail.draw(chosen, stats[chosen.id]) : nothing}
            </div>`,
        )}
      </div>`;
    },
  };
}) satisfies OpenView;
