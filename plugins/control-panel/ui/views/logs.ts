/** The log of the gateway, live: filter it, read back, look into one entry. 100,000 lines stay smooth. */
import { plugins } from "@svc/sdk/plugins";
import { html, nothing, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { ArrowDownToLine, ChevronDown, ChevronRight, Copy, History, Pause, Play } from "lucide";
import type { OpenView } from "../core/app.ts";
import { locale, t } from "../core/text.ts";
import { copy } from "../parts/command.ts";
import { icon } from "../parts/icon.ts";
import { moveInRows } from "../parts/row-keys.ts";
import { rows, type SvcRows } from "../parts/rows.ts";
import { searchField } from "../parts/search.ts";
import { badge, empty, facts, failed, type Tone, waiting } from "../parts/show.ts";
import { createLog, type Entry, LEVELS, lineOf, MAX_LINES } from "./logs/log.ts";
import "./logs.css";

const POLL_MS = 1_000;
const TYPED_MS = 300;
const TONES: Readonly<Record<string, Tone>> = { info: "accent", warn: "warning", error: "bad", fatal: "bad" };

export default ((context) => {
  const given = context.place.params;
  const filter = { level: given.get("level") ?? "", plugin: given.get("plugin") ?? "", text: given.get("text") ?? "" };
  if (!LEVELS.includes(filter.level)) filter.level = "";
  const log = createLog(context, {
    filter: () => filter,
    isPaused: () => isPaused,
    mayDrop: () => list()?.isAtEnd !== false,
    changed: context.redraw,
  });
  const ids = context.resource(async () =>
    context.serves(plugins.list) ? (await context.call(plugins.list, {})).plugins.map(({ id }) => id) : [],
  );
  const open = new Set<number>();
  let isPaused = false;
  /** Changed with each new list, whose scroll position is its own. */
  let version = 0;
  let typing: ReturnType<typeof setTimeout> | undefined;

  const list = () => document.querySelector<SvcRows>("svc-rows.log");
  const isHeld = () => log.entries.length >= MAX_LINES && list()?.isAtEnd === false;
  const restart = () => {
    version++;
    open.clear();
    return log.restart();
  };

  context.every(POLL_MS, () => void log.follow());
  context.onFresh(() => void (log.entries.length === 0 ? log.restart() : log.follow()));
  if (context.connection.state.kind === "connected") void log.restart();

  const isFiltered = () => Object.values(filter).some((value) => value !== "");
  const change = (name: keyof typeof filter) => (value: string) => {
    filter[name] = value;
    clearTimeout(typing);
    typing = setTimeout(
      () => {
        const { level, plugin, text } = filter;
        const orAbsent = (value: string) => (value === "" ? undefined : value);
        context.go(
          "logs",
          { level: orAbsent(level), plugin: orAbsent(plugin), text: orAbsent(text) },
          { replace: true },
        );
        void restart();
      },
      name === "text" ? TYPED_MS : 0,
    );
  };

  const picked = (name: keyof typeof filter) => (event: Event) =>
    change(name)((event.target as HTMLSelectElement).value);

  const toggle = (id: number) => () => {
    if (!open.delete(id)) open.add(id);
    context.redraw();
  };

  const toEnd = () => {
    isPaused = false;
    list()?.scrollToEnd(); // so that the oldest lines may leave
    void log.follow().then(() => list()?.scrollToEnd());
  };

  const draw = (entry: Entry): TemplateResult => {
    if (entry.line === undefined) return html`<p class="log-gap">${t.logs.gap}</p>`;
    const { at, level, plugin, message } = lineOf(entry);
    const isOpen = open.has(entry.id);
    return html`<div class="log-line ${level ?? ""}">
      <button class="plain" data-focus aria-expanded=${isOpen} @click=${toggle(entry.id)}>
        ${icon(isOpen ? ChevronDown : ChevronRight)}
        <time class="quiet">${at === undefined ? nothing : timeOf(at)}</time>
        ${level === undefined ? html`<span></span>` : badge(level, TONES[level])}
        <span class="quiet ellipsis plugin">${plugin}</span>
        <span class="ellipsis message">${message}</span>
      </button>
      ${isOpen ? drawOpen(entry) : nothing}
    </div>`;
  };

  const drawOpen = (entry: Entry): TemplateResult => {
    const { at, message, fields, stack } = lineOf(entry);
    return html`<div class="log-open">
      <p class="break">${message}</p>
      ${facts([[t.logs.time, at === undefined ? undefined : fullTimeOf(at)], ...fields])}
      ${stack === undefined ? nothing : html`<pre tabindex="0">${stack}</pre>`}
      <div class="actions">
        <button @click=${() => copy(entry.line ?? "")}>${icon(Copy)}${t.logs.copyLine}</button>
      </div>
    </div>`;
  };

  const toolbar = () =>
    html`<div class="toolbar">
      <h1>${t.logs.title}</h1>
      ${searchField(filter.text, change("text"), t.logs.search)}
      <select aria-label=${t.logs.level} title=${t.logs.level} @change=${picked("level")}>
        <option value="">${t.logs.allLevels}</option>
        ${LEVELS.map((level) => html`<option value=${level} ?selected=${level === filter.level}>${t.logs.from(level)}</option>`)}
      </select>
      <select aria-label=${t.logs.plugin} title=${t.logs.plugin} @change=${picked("plugin")}>
        <option value="">${t.logs.allPlugins}</option>
        ${[...new Set(["host", ...(filter.plugin === "" ? [] : [filter.plugin]), ...(ids.value ?? [])])].map(
          (id) => html`<option value=${id} ?selected=${id === filter.plugin}>${id}</option>`,
        )}
      </select>
    </div>`;

  const status = () => {
    const held = isHeld();
    return html`<div class="toolbar">
      <button
        aria-pressed=${isPaused}
        @click=${() => {
          isPaused = !isPaused;
          if (!isPaused) void log.follow();
          context.redraw();
        }}
      >
        ${icon(isPaused ? Play : Pause)}${isPaused ? t.logs.resume : t.logs.pause}
      </button>
      <button ?disabled=${!log.hasOlder || log.isReadingBack} @click=${() => void log.readBack()}>
        ${icon(History)}${t.logs.older}
      </button>
      <button @click=${toEnd}>${icon(ArrowDownToLine)}${t.logs.toEnd}</button>
      <span class="quiet" role="status"
        >${t.logs.count(log.entries.length.toLocaleString(locale))}${held ? ` · ${t.logs.held}` : isPaused ? ` · ${t.logs.paused}` : ""}</span
      >
      <span class="quiet mono ellipsis file" title=${log.file ?? ""}>${log.file ?? ""}</span>
    </div>`;
  };

  return {
    render: () =>
      html`<div class="view full logs">
        <header>
          ${toolbar()} ${status()}
          ${log.error === undefined ? nothing : failed(log.error, () => void (log.entries.length > 0 ? log.follow() : log.restart()))}
        </header>
        ${
          log.entries.length > 0
            ? keyed(
                version,
                html`<svc-rows
                  class="log"
                  @keydown=${(event: KeyboardEvent) => moveInRows(event, log.entries.length)}
                  .list=${rows({
                    items: log.entries,
                    key: ({ id }) => id,
                    row: draw,
                    height: 30,
                    followsEnd: true,
                    onStart: () => void log.readBack(),
                    label: t.logs.title,
                    role: "log",
                  })}
                ></svc-rows>`,
              )
            : log.isLoading || log.isReadingBack
              ? waiting()
              : empty(isFiltered() ? t.logs.noMatch : t.logs.none, log.file === undefined ? undefined : t.logs.noneText)
        }
      </div>`,
  };
}) satisfies OpenView;

/** Day unless it is today, and time of day. */
function timeOf(at: number): TemplateResult {
  const date = new Date(at);
  const pad = (value: number, digits = 2) => String(value).padStart(digits, "0");
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? "" : `${pad(date.getMonth() + 1)}-${pad(date.getDate())} `;
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  return html`<span class="wide">${day}</span>${time}<span class="wide">.${pad(date.getMilliseconds(), 3)}</span>`;
}

function fullTimeOf(at: number): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long" }).format(at);
}
