/** Conversations: find one, see what it uses, open it, start it over, delete it. Usable with many thousands. */
import type { Static } from "@svc/sdk";
import { chatEvent } from "@svc/sdk/chat";
import { type SessionRow, sessions } from "@svc/sdk/sessions";
import { html, nothing, type TemplateResult } from "lit";
import { MessageSquare, Pencil, RotateCcw, Trash2 } from "lucide";
import type { OpenView } from "../core/app.ts";
import { t } from "../core/text.ts";
import { askFor, confirm } from "../parts/dialog.ts";
import { icon } from "../parts/icon.ts";
import { rows } from "../parts/rows.ts";
import { badge, empty, show } from "../parts/show.ts";
import { ago, compact } from "../parts/time.ts";
import "./sessions.css";

type Row = Static<typeof SessionRow>;

/** Rows that the gateway is asked for at once. */
const LIMIT = 20_000;

export default ((context) => {
  const list = context.resource(
    () =>
      context.call(sessions.list, {
        limit: LIMIT,
        includeGlobal: true,
        includeUnknown: true,
        includeDerivedTitles: true,
      }),
    { events: [chatEvent], everyMs: 60_000 },
  );
  let search = "";
  const mayChange = context.may("operator.admin");

  const found = (all: readonly Row[]) => {
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return all;
    return all.filter((row) => {
      const text = `${titleOf(row)} ${row.key} ${row.channel ?? ""} ${row.model ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  };

  const change = (title: string, action: string, isDangerous: boolean, work: () => Promise<unknown>) => async () => {
    if (await confirm({ title, action, isDangerous, work })) await list.reload();
  };

  const rename = (row: Row) => async () => {
    const values = await askFor({
      title: t.sessions.rename,
      fields: [{ name: "label", label: t.sessions.label, value: row.label ?? "", hint: t.sessions.labelHint }],
      action: t.common.save,
      work: ({ label = "" }) =>
        context.call(sessions.patch, { key: row.key, label: label.trim() === "" ? null : label.trim() }),
    });
    if (values) await list.reload();
  };

  const draw = (row: Row): TemplateResult =>
    html`<article class="session">
      <a
        href="chat"
        class="ellipsis"
        @click=${(event: Event) => {
          event.preventDefault();
          context.go("chat", { session: row.key });
        }}
        >${titleOf(row)}</a
      >
      <span class="ellipsis quiet mono">${row.key}</span>
      <span class="what">
        ${row.channel === undefined ? nothing : badge(row.channel)}
        ${row.abortedLastRun === true ? badge(t.sessions.stopped, "warning") : nothing}
        <span class="ellipsis quiet">${row.model ?? ""}</span>
      </span>
      <span class="number quiet"
        >${row.totalTokens === undefined ? "" : t.sessions.tokens(compact(row.totalTokens))}</span
      >
      <span class="quiet">${ago(row.updatedAt)}</span>
      <span class="buttons">
        <button
          class="plain"
          aria-label=${t.sessions.open(titleOf(row))}
          title=${t.views.chat}
          @click=${() => context.go("chat", { session: row.key })}
        >
          ${icon(MessageSquare)}
        </button>
        ${
          mayChange
            ? html`<button
                  class="plain"
                  aria-label=${t.sessions.renameOf(titleOf(row))}
                  title=${t.sessions.rename}
                  @click=${rename(row)}
                >
                  ${icon(Pencil)}
                </button>
                <button
                  class="plain"
                  aria-label=${t.sessions.resetOf(titleOf(row))}
                  title=${t.sessions.reset}
                  @click=${change(t.sessions.resetOf(titleOf(row)), t.sessions.reset, false, () =>
                    context.call(sessions.reset, { key: row.key }),
                  )}
                >
                  ${icon(RotateCcw)}
                </button>
                <button
                  class="plain"
                  aria-label=${t.sessions.deleteOf(titleOf(row))}
                  title=${t.common.delete}
                  @click=${change(t.sessions.deleteOf(titleOf(row)), t.common.delete, true, () =>
                    context.call(sessions.delete, { key: row.key }),
                  )}
                >
                  ${icon(Trash2)}
                </button>`
            : nothing
        }
      </span>
    </article>`;

  return {
    render: () =>
      html`<div class="view full">
        <header class="toolbar">
          <h1>${t.sessions.title}</h1>
          <input
            type="search"
            aria-label=${t.common.search}
            placeholder=${t.common.search}
            .value=${search}
            @input=${(event: Event) => {
              search = (event.target as HTMLInputElement).value;
              context.redraw();
            }}
          />
          <span class="quiet" role="status"
            >${list.value ? t.sessions.count(found(list.value.sessions).length) : ""}</span
          >
        </header>
        ${show(list, ({ sessions: all }) => {
          const items = found(all);
          if (all.length === 0) return empty(t.sessions.none, t.sessions.noneText);
          if (items.length === 0) return empty(t.sessions.noMatch);
          return html`<svc-rows
            .list=${rows({ items, key: ({ key }) => key, row: draw, height: 44, label: t.sessions.title })}
          ></svc-rows>`;
        })}
      </div>`,
  };
}) satisfies OpenView;

export function titleOf({ label, displayName, derivedTitle, subject, key }: Row): string {
  return label ?? displayName ?? subject ?? derivedTitle ?? key;
}
