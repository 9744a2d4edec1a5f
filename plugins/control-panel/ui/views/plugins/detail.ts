/** One plugin beside the list: its figures, what it contributes, what it may do, its last failure and its log. */
import { logs } from "@svc/sdk/logs";
import { plugins, type PluginReport, type PluginStats } from "@svc/sdk/plugins";
import { html, nothing, type TemplateResult } from "lit";
import { CircleArrowUp, Power, RotateCw, ScrollText, Trash2 } from "lucide";
import type { ViewContext } from "../../core/app.ts";
import { locale, named, t } from "../../core/text.ts";
import { createChosen } from "../../parts/chosen.ts";
import { detail } from "../../parts/detail.ts";
import { askFor, confirm } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { empty, facts, show, type Tone } from "../../parts/show.ts";
import { absolute, ago, bytes, duration } from "../../parts/time.ts";
import { tabs } from "../../parts/tabs.ts";
import { attempt, toast } from "../../parts/toast.ts";
import { parseLine } from "../logs/log.ts";
import { updatePlugin } from "./install.ts";

type TabId = "facts" | "contributes" | "permissions" | "log";

const LOG_LINES = 100;
const LOG_MS = 5_000;
/** A reload waits for calls under way. */
const RELOAD_MS = 120_000;

export function createPluginDetail(
  context: ViewContext,
  actions: { changed(): Promise<void>; close(): void },
): { draw(plugin: PluginReport, stats: PluginStats | undefined): TemplateResult } {
  let tab: TabId = "facts";
  let isBusy = false;
  const about = createChosen(context, (id) => context.call(plugins.inspect, { id }));
  const lines = createChosen(context, async (id) =>
    context.serves(logs.tail)
      ? (await context.call(logs.tail, { subsystem: id, limit: LOG_LINES, maxBytes: 1_000_000 })).lines.map(parseLine)
      : [],
  );
  /** Increased when the log must be read again. */
  let tick = 0;
  context.every(LOG_MS, () => {
    if (tab !== "log" || !context.place.params.has("id")) return;
    tick++;
    context.redraw();
  });
  const aboutOf = ({ id, generation, state, asleep }: PluginReport) => about(id, `${generation} ${state} ${asleep}`);

  const reload =
    ({ id }: PluginReport) =>
    async () => {
      isBusy = true;
      context.redraw();
      await attempt(async () => {
        const { ok, reason, heldMs, state } = await context.call(plugins.reload, { id }, { timeoutMs: RELOAD_MS });
        toast(ok ? t.plugins.reloaded(id, duration(heldMs)) : `${id}: ${reason ?? state}`, ok ? "good" : "bad");
      });
      isBusy = false;
      await actions.changed();
    };

  const turn =
    ({ id, state }: PluginReport) =>
    async () => {
      const isOff = state === "disabled";
      const done = await confirm({
        title: isOff ? t.plugins.enableOf(id) : t.plugins.disableOf(id),
        text: isOff ? t.plugins.enableText : t.plugins.disableText,
        action: isOff ? t.plugins.enable : t.plugins.disable,
        isDangerous: !isOff,
        work: () => context.call(isOff ? plugins.enable : plugins.disable, { id }, { timeoutMs: RELOAD_MS }),
      });
      if (done) await actions.changed();
    };

  const remove =
    ({ id }: PluginReport) =>
    async () => {
      const values = await askFor({
        title: t.plugins.removeOf(id),
        text: html`<p>${t.plugins.removeText}</p>`,
        fields: [
          {
            name: "purge",
            label: t.plugins.itsData,
            value: "keep",
            choices: [
              ["keep", t.plugins.keepData],
              ["purge", t.plugins.purgeData],
            ],
          },
        ],
        action: t.plugins.remove,
        work: ({ purge }) => context.call(plugins.remove, { id, purge: purge === "purge" }, { timeoutMs: RELOAD_MS }),
      });
      if (!values) return;
      toast(t.plugins.removed(id), "good");
      actions.close();
      await actions.changed();
    };

  function figures(plugin: PluginReport, stats: PluginStats | undefined): TemplateResult {
    const { reason, blame, retryAt, inert, deprecated = [], generation, importMs, setupMs, startMs, version } = plugin;
    const number = (value: number) => value.toLocaleString(locale);
    const ms = (value: number | null | undefined) =>
      value === null || value === undefined ? undefined : duration(value);
    const note = (tone: Tone, title: string, lines: readonly string[]) =>
      html`<div class="notice ${tone}">
        <div>
          <p><strong>${title}</strong></p>
          ${lines.map((line) => html`<p class="break">${line}</p>`)}
        </div>
      </div>`;
    const { names } = t.plugins;
    return html`${reason === undefined ? nothing : note("warning", t.plugins.reason, [reason])}
    ${retryAt === undefined ? nothing : html`<p class="quiet">${t.plugins.retries} ${ago(retryAt)}</p>`}
    ${blame ? note("bad", t.plugins.blame, [`${absolute(blame.at)}, ${blame.where}`, blame.message]) : nothing}
    ${inert.length === 0 ? nothing : note("warning", t.plugins.inert, inert)}
    ${deprecated.length === 0 ? nothing : note("warning", t.plugins.deprecated, deprecated)}
    ${show(aboutOf(plugin), ({ package: { origin, directory, description }, placements }) =>
      facts([
        [names.description, description],
        [names.version, version],
        [names.origin, origin],
        [names.directory, directory === undefined ? undefined : html`<span class="mono">${directory}</span>`],
        [names.placement, t.plugins.placements[placements.now]],
        [
          names.supports,
          placements.supports.length > 1
            ? placements.supports.map((one) => t.plugins.placements[one]).join(", ")
            : undefined,
        ],
        [names.generation, number(generation)],
        [names.loading, [ms(importMs), ms(setupMs), ms(startMs)].map((part) => part ?? "–").join(" · ")],
      ]),
    )}
    ${
      stats
        ? html`<h3>${t.plugins.sinceStart}</h3>
            ${facts([
              [
                names.calls,
                `${number(stats.calls)}${stats.inFlight > 0 ? ` (${t.plugins.running(stats.inFlight)})` : ""}`,
              ],
              [
                names.latency,
                stats.p50Ms === null
                  ? undefined
                  : `${ms(stats.p50Ms)} · p99 ${ms(stats.p99Ms)} · max ${ms(stats.maxMs)}`,
              ],
              [names.errors, number(stats.errors)],
              [
                names.hooks,
                stats.hookRuns === 0 ? undefined : t.plugins.hookRuns(number(stats.hookRuns), number(stats.hookErrors)),
              ],
              [names.memory, stats.memoryBytes === null ? t.plugins.sharedMemory : bytes(stats.memoryBytes)],
              [
                names.blocks,
                stats.blocks === 0
                  ? undefined
                  : t.plugins.blocked(number(stats.blocks), duration(stats.longestBlockMs)),
              ],
            ])}`
        : nothing
    }`;
  }

  const contributes = (plugin: PluginReport) =>
    show(aboutOf(plugin), ({ declares }) => {
      const kinds = Object.entries(declares).filter(([, all]) => all.length > 0);
      if (kinds.length === 0) return empty(t.plugins.nothing, t.plugins.nothingText);
      return html`${kinds.map(
        ([kind, all]) =>
          html`<details open class="declared">
            <summary>${named(t.plugins.kinds, kind)} <small>${all.length}</small></summary>
            <ul>
              ${all.map((one) => html`<li class="break"><span>${one.name}</span> <small>${factsOf(one)}</small></li>`)}
            </ul>
          </details>`,
      )}`;
    });

  const permissions = (plugin: PluginReport) =>
    show(aboutOf(plugin), ({ permissions: asked, package: { origin } }) => {
      const given = Object.entries(asked ?? {});
      if (given.length === 0)
        return empty(t.plugins.noPermissions, isOwn(origin) ? t.plugins.noPermissionsText : t.plugins.bundledText);
      return facts(given.map(([name, value]) => [name, wordsOf(value)] as const));
    });

  const log = (plugin: PluginReport) =>
    show(lines(plugin.id, tick), (found) =>
      found.length === 0
        ? empty(t.plugins.noLines)
        : html`<ol class="plugin-log" reversed>
            ${found.toReversed().map(
              ({ at, level, message }) =>
                html`<li class=${level ?? ""}>
                  <small>${at === undefined ? "" : absolute(at)} ${level ?? ""}</small>
                  <span class="break">${message}</span>
                </li>`,
            )}
          </ol>`,
    );

  return {
    draw(plugin, stats) {
      const { id, state } = plugin;
      const { value: known } = aboutOf(plugin);
      const mayChange = context.may("operator.admin");
      const isInstalled = known !== undefined && isOwn(known.package.origin);
      const all: (readonly [TabId, string])[] = [
        ["facts", t.plugins.tabFacts],
        ["contributes", t.plugins.tabContributes],
        ["permissions", t.plugins.tabPermissions],
        ...(context.serves(logs.tail) ? [["log", t.plugins.tabLog] as const] : []),
      ];
      const bodies: Readonly<Record<TabId, () => TemplateResult>> = {
        facts: () => figures(plugin, stats),
        contributes: () => contributes(plugin),
        permissions: () => permissions(plugin),
        log: () => log(plugin),
      };
      const action = (symbol: typeof Power, text: string, run: () => unknown, name = "") =>
        html`<button class=${name} ?disabled=${isBusy} @click=${run}>${icon(symbol)}${text}</button>`;
      return detail({
        title: id,
        close: actions.close,
        actions: html`${
          mayChange
            ? html`${state === "disabled" ? nothing : action(RotateCw, t.plugins.reload, reload(plugin))}
              ${action(Power, state === "disabled" ? t.plugins.enable : t.plugins.disable, turn(plugin))}
              ${
                isInstalled
                  ? html`${action(CircleArrowUp, t.plugins.update, async () => {
                      if (await updatePlugin(context, id)) await actions.changed();
                    })}
                    ${action(Trash2, t.plugins.remove, remove(plugin), "danger")}`
                  : nothing
              }`
            : nothing
        }
        ${
          context.serves(logs.tail)
            ? action(ScrollText, t.views.logs, () => context.go("logs", { plugin: id }))
            : nothing
        }`,
        body: tabs({
          label: id,
          tabs: all,
          selected: tab,
          select: (chosen) => {
            tab = chosen;
            context.redraw();
          },
          content: bodies[tab],
        }),
      });
    },
  };
}

/** Added by `plugins.install`, so it can be updated and removed. */
function isOwn(origin: string): boolean {
  return origin.startsWith("installed: ") || origin.startsWith("linked: ");
}

/** The facts of a declaration as words: `operator.read`, `GET`. */
function factsOf({ name: _name, ...rest }: Readonly<Record<string, unknown>>): string {
  return Object.entries(rest)
    .flatMap(([key, value]) => {
      if (value === true) return [key];
      if (value === false || value === undefined || value === null) return [];
      return [wordsOf(value)];
    })
    .join(" · ");
}

function wordsOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(wordsOf).join(", ");
  if (typeof value === "object" && value !== null)
    return Object.entries(value)
      .map(([key, inner]) => `${key}: ${wordsOf(inner)}`)
      .join("; ");
  if (typeof value === "boolean") return value ? t.common.yes : t.common.no;
  return String(value);
}
