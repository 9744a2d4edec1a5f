/** Conversations: find one, see what it uses, open it, change it, start it over, delete it. Usable with many thousands. */
import { sessions } from "@svc/sdk/sessions";
import { html, nothing, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { MessageSquare, Pencil, RotateCcw, SlidersHorizontal, Trash2 } from "lucide";
import { hrefOf } from "../core/address.ts";
import type { OpenView } from "../core/app.ts";
import { locale, t } from "../core/text.ts";
import { askFor, confirm } from "../parts/dialog.ts";
import { icon } from "../parts/icon.ts";
import { moveInRows } from "../parts/row-keys.ts";
import { rows } from "../parts/rows.ts";
import { searchField } from "../parts/search.ts";
import { titleOf } from "../parts/session.ts";
import { badge, empty, show } from "../parts/show.ts";
import { ago, compact } from "../parts/time.ts";
import { createDetail } from "./sessions/detail.ts";
import {
  agentOf,
  createChoices,
  createList,
  createSelection,
  type Filter,
  MAX_ROWS,
  type Row,
} from "./sessions/list.ts";
import "./sessions.css";

/** Minutes of the filter "active lately". */
const ACTIVE = ["60", "1440", "10080", "43200"] as const;
const KINDS = ["direct", "group", "global", "unknown"] as const;
const SORTS = ["newest", "title", "tokens"] as const;
const SEARCH_MS = 300;

export default ((context) => {
  const list = createList(context);
  const select = createSelection();
  const agents = createChoices(agentOf);
  const channels = createChoices(({ channel }) => channel);
  const filter: Filter = { search: "", agent: "", channel: "", kind: "", active: "", sort: "newest" };
  const mayChange = context.may("operator.admin");
  /** What the gateway found beyond the rows of the view, for this search. */
  let beyond: { readonly search: string; readonly rows: readonly Row[] } | undefined;
  let asking: ReturnType<typeof setTimeout> | undefined;

  const detail = createDetail(context, {
    changed: (key) => list.refresh(key),
    reset,
    remove,
    close: () => open(undefined),
  });

  const open = (key: string | undefined) => context.go("sessions", { key });
  const openChat = (row: Row) => context.go("chat", { session: row.key });

  /** A list that is cut lacks old sessions: the gateway searches them. */
  function askBeyond(): void {
    clearTimeout(asking);
    const { search } = filter;
    if (!list.isCut || search.trim() === "") return;
    asking = setTimeout(() => {
      list.find(search).then(
        (found) => {
          beyond = { search, rows: found };
          context.redraw();
        },
        () => undefined, // what the view holds stays
      );
    }, SEARCH_MS);
  }

  let merged:
    | { readonly all: readonly Row[]; readonly beyond: typeof beyond; readonly rows: readonly Row[] }
    | undefined;
  function found(all: readonly Row[]): readonly Row[] {
    const more = beyond?.search === filter.search ? beyond : undefined;
    if (merged?.all !== all || merged.beyond !== more) {
      const keys = new Set(all.map(({ key }) => key));
      merged = { all, beyond: more, rows: more ? [...all, ...more.rows.filter(({ key }) => !keys.has(key))] : all };
    }
    return select(merged.rows, filter);
  }

  async function reset(row: Row): Promise<void> {
    const title = t.sessions.resetOf(titleOf(row));
    const work = () => context.call(sessions.reset, { key: row.key });
    if (await confirm({ title, text: t.sessions.resetText, action: t.sessions.reset, work }))
      await list.refresh(row.key);
  }

  async function remove(row: Row): Promise<void> {
    const title = t.sessions.deleteOf(titleOf(row));
    const work = () => context.call(sessions.delete, { key: row.key });
    if (!(await confirm({ title, text: t.sessions.deleteText, action: t.common.delete, isDangerous: true, work })))
      return;
    if (beyond) beyond = { ...beyond, rows: beyond.rows.filter(({ key }) => key !== row.key) };
    list.drop(row.key);
    if (context.place.params.get("key") === row.key) context.go("sessions", {}, { replace: true });
  }

  async function rename(row: Row): Promise<void> {
    const values = await askFor({
      title: t.sessions.rename,
      fields: [{ name: "label", label: t.sessions.label, value: row.label ?? "", hint: t.sessions.labelHint }],
      action: t.common.save,
      work: ({ label = "" }) =>
        context.call(sessions.patch, { key: row.key, label: label.trim() === "" ? null : label.trim() }),
    });
    if (values) await list.refresh(row.key);
  }

  const button = (symbol: typeof Pencil, label: string, title: string, run: () => unknown, name = "") =>
    html`<button class="plain ${name}" aria-label=${label} title=${title} @click=${run}>${icon(symbol)}</button>`;

  const draw = (row: Row): TemplateResult => {
    const title = titleOf(row);
    return html`<article class="session ${context.place.params.get("key") === row.key ? "chosen" : ""}">
      <a href=${hrefOf("chat", { session: row.key })} class="ellipsis name" data-focus>${title}</a>
      <span class="ellipsis quiet mono key">${row.key}</span>
      <span class="what">
        ${row.channel === undefined ? nothing : badge(row.channel)}
        ${row.abortedLastRun === true ? badge(t.sessions.stopped, "warning") : nothing}
        <span class="ellipsis quiet">${row.model ?? ""}</span>
      </span>
      <span class="number quiet"
        >${row.totalTokens === undefined ? "" : t.sessions.tokens(compact(row.totalTokens))}</span
      >
      <span class="quiet when">${ago(row.updatedAt)}</span>
      <span class="buttons">
        ${button(SlidersHorizontal, t.sessions.detailsOf(title), t.sessions.details, () => open(row.key))}
        ${button(MessageSquare, t.sessions.open(title), t.views.chat, () => openChat(row), "wide-only")}
        ${
          mayChange
            ? html`${button(Pencil, t.sessions.renameOf(title), t.sessions.rename, () => rename(row), "wide-only")}
              ${button(RotateCcw, t.sessions.resetOf(title), t.sessions.reset, () => reset(row), "wide-only")}
              ${button(Trash2, t.sessions.deleteOf(title), t.common.delete, () => remove(row), "wide-only")}`
            : nothing
        }
      </span>
    </article>`;
  };

  const choice = (name: keyof Filter, label: string, options: readonly (readonly [string, string])[]) =>
    html`<select
      aria-label=${label}
      title=${label}
      @change=${(event: Event) => {
        Object.assign(filter, { [name]: (event.target as HTMLSelectElement).value });
        context.redraw();
      }}
    >
      ${options.map(([value, text]) => html`<option value=${value} ?selected=${filter[name] === value}>${text}</option>`)}
    </select>`;

  const filters = (all: readonly Row[]) => {
    const { kinds, activeLately, sorts } = t.sessions;
    const plain = (values: readonly string[]) => values.map((value) => [value, value] as const);
    return html`<div class="toolbar filters">
      ${agents(all).length > 1 ? choice("agent", t.sessions.agent, [["", t.sessions.allAgents], ...plain(agents(all))]) : nothing}
      ${
        channels(all).length > 0
          ? choice("channel", t.sessions.channel, [["", t.sessions.allChannels], ...plain(channels(all))])
          : nothing
      }
      ${choice("kind", t.sessions.kind, [["", t.sessions.allKinds], ...KINDS.map((kind) => [kind, kinds[kind]] as const)])}
      ${choice("active", t.sessions.active, [
        ["", t.sessions.anyTime],
        ...ACTIVE.map((minutes) => [minutes, activeLately[minutes]] as const),
      ])}
      ${choice(
        "sort",
        t.sessions.sort,
        SORTS.map((sort) => [sort, sorts[sort]] as const),
      )}
    </div>`;
  };

  return {
    render() {
      const { value: all = [], isLoading } = list.rows;
      const items = found(all);
      const key = context.place.params.get("key");
      const chosen =
        key === null ? undefined : (all.find((row) => row.key === key) ?? items.find((row) => row.key === key));
      return html`<div class="view full sessions">
        <header>
          <div class="toolbar">
            <h1>${t.sessions.title}</h1>
            ${searchField(filter.search, (text) => {
              filter.search = text;
              askBeyond();
              context.redraw();
            })}
            <span class="quiet" role="status"
              >${list.rows.value ? t.sessions.count(items.length, items.length.toLocaleString(locale)) : ""}${isLoading && all.length > 0 ? " …" : ""}</span
            >
          </div>
          ${filters(all)}
          ${list.isCut ? html`<p class="quiet">${t.sessions.cut(MAX_ROWS.toLocaleString(locale))}</p>` : nothing}
        </header>
        ${show(list.rows, () => {
          if (all.length === 0) return empty(t.sessions.none, t.sessions.noneText);
          return html`<div class="with-detail ${chosen ? "open" : ""}">
            ${
              items.length === 0
                ? empty(t.sessions.noMatch)
                : keyed(
                    JSON.stringify(filter),
                    html`<svc-rows
                      class=${chosen ? "beside" : ""}
                      @keydown=${(event: KeyboardEvent) => moveInRows(event, items.length)}
                      .list=${rows({ items, key: (row) => row.key, row: draw, height: 45, label: t.sessions.title })}
                    ></svc-rows>`,
                  )
            }
            ${chosen ? detail.draw(chosen) : nothing}
          </div>`;
        })}
      </div>`;
    },
  };
}) satisfies OpenView;
