/** The conversations beside the open one. The gateway sends the rows that change; the whole list is read once, and again after a reconnect. */
import type { Static } from "@svc/sdk";
import { type SessionRow, sessions, sessionsChanged, sessionsWatch } from "@svc/sdk/sessions";
import { html, nothing, render, type TemplateResult } from "lit";
import { Plus } from "lucide";
import { hrefOf } from "../../core/address.ts";
import type { ViewContext } from "../../core/app.ts";
import { inNextFrame } from "../../core/frame.ts";
import { t } from "../../core/text.ts";
import { icon } from "../../parts/icon.ts";
import { rows } from "../../parts/rows.ts";
import { titleOf } from "../../parts/session.ts";
import { searchField } from "../../parts/search.ts";
import { badge, failed, waiting } from "../../parts/show.ts";
import { ago } from "../../parts/time.ts";
import { matcher } from "../../parts/words.ts";
import { isUnread, saw } from "./seen.ts";

export type Session = Static<typeof SessionRow>;

/** Rows that the gateway is asked for at once. */
const LIMIT = 20_000;

export interface SessionList {
  readonly element: HTMLElement;
  /** The row of a conversation, if the gateway has it. */
  row(key: string): Session | undefined;
  readonly defaults: { readonly model: string | null; readonly modelProvider: string | null };
  /** Marks the open conversation. */
  open(key: string): void;
  /** Reads one row again. */
  reload(key: string): Promise<void>;
  forget(key: string): void;
  redraw(): void;
}

export interface SessionListOptions {
  readonly context: ViewContext;
  readonly agents: () => readonly { readonly id: string; readonly name: string }[];
  readonly go: (key: string) => void;
  readonly create: (agentId?: string) => void;
  /** Called when a row changed. */
  readonly changed: () => void;
}

export function createSessionList({ context, agents, go, create, changed }: SessionListOptions): SessionList {
  const element = document.createElement("div");
  element.className = "session-list";
  const known = new Map<string, Session>();
  let items: readonly Session[] = [];
  let defaults: SessionList["defaults"] = { model: null, modelProvider: null };
  let isLoaded = false;
  let error: unknown;
  let search = "";
  let current = "";

  const include = { includeDerivedTitles: true, includeGlobal: true, includeUnknown: true };
  const sort = () => {
    items = [...known.values()].toSorted((left, right) => (right.updatedAt ?? 0) - (left.updatedAt ?? 0));
  };
  const put = (row: Session) => {
    known.set(row.key, row);
    if (row.key === current) saw(row.key, row.updatedAt ?? 0);
  };

  async function load(): Promise<void> {
    try {
      const { list } = await context.call(sessionsWatch.subscribe, { ...include, limit: LIMIT });
      known.clear();
      for (const row of list?.sessions ?? []) put(row);
      defaults = list?.defaults ?? defaults;
      error = undefined;
      isLoaded = true;
    } catch (failure) {
      error = failure;
    }
    sort();
    redraw();
    changed();
  }

  async function reload(key: string): Promise<void> {
    const list = await context.call(sessions.list, { ...include, key });
    ({ defaults } = list);
    const [row] = list.sessions;
    if (row) put(row);
    else known.delete(key);
    sort();
    redraw();
    changed();
  }

  context.on(sessionsChanged, ({ sessionKey, session }) => {
    if (sessionKey === undefined) return void load();
    if (session) put(session);
    else known.delete(sessionKey);
    sort();
    redraw();
    changed();
  });
  context.signal.addEventListener(
    "abort",
    () => void context.call(sessionsWatch.unsubscribe, {}).catch(() => undefined), // a closed connection has no subscriptions
    { once: true },
  );
  context.onFresh(() => void load());
  if (context.connection.state.kind === "connected") void load();

  const found = () => {
    if (search.trim() === "") return items;
    const matches = matcher(search);
    return items.filter((row) => matches(`${titleOf(row)} ${row.key} ${row.channel ?? ""}`));
  };

  const drawn = (row: Session): TemplateResult => {
    const title = titleOf(row);
    const isRunning = row.hasActiveRun === true;
    const isNew = row.key !== current && isUnread(row.key, row.updatedAt ?? 0);
    return html`<a
      class="session-link ${isNew ? "unread" : ""}"
      href=${hrefOf("chat", { session: row.key })}
      aria-current=${row.key === current ? "true" : nothing}
      @click=${(event: MouseEvent) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go(row.key);
      }}
    >
      <span class="ellipsis">${title}</span>
      ${isRunning ? html`<span class="spinner small" role="img" aria-label=${t.chat.running}></span>` : nothing}
      ${isNew && !isRunning ? html`<span class="dot" role="img" aria-label=${t.chat.unread}></span>` : nothing}
      <small class="ellipsis">${agentOf(row.key)} ${ago(row.updatedAt)}</small>
      ${row.channel === undefined ? nothing : badge(row.channel)}
    </a>`;
  };

  const agentOf = (key: string) => {
    if (agents().length < 2) return nothing;
    const id = key.split(":")[1];
    return html`${agents().find((agent) => agent.id === id)?.name ?? id} · `;
  };

  const redraw = inNextFrame(() => render(draw(), element));

  function draw(): TemplateResult {
    const shown = found();
    return html`<div class="session-tools">
        ${context.may("operator.write") ? newButton() : nothing}
        ${searchField(
          search,
          (text) => {
            search = text;
            redraw();
          },
          t.chat.searchConversations,
        )}
      </div>
      ${error === undefined ? nothing : failed(error, () => void load())}
      ${
        !isLoaded && error === undefined
          ? waiting()
          : shown.length === 0 && search !== ""
            ? html`<p class="quiet none">${t.chat.noMatch}</p>`
            : html`<svc-rows
                .list=${rows({ items: shown, key: ({ key }) => key, row: drawn, height: 58, label: t.chat.conversations })}
              ></svc-rows>`
      }`;
  }

  function newButton(): TemplateResult {
    const choices = agents();
    const button = html`<button class="accent" @click=${() => create()}>
      ${icon(Plus)}${t.chat.newConversation}
    </button>`;
    if (choices.length < 2) return button;
    return html`${button}
      <select
        aria-label=${t.chat.otherAgent}
        @change=${(event: Event) => {
          const select = event.target as HTMLSelectElement;
          const id = select.value;
          select.value = "";
          create(id);
        }}
      >
        <option value="">${t.chat.otherAgent} …</option>
        ${choices.map(({ id, name }) => html`<option value=${id}>${t.chat.newWith(name)}</option>`)}
      </select>`;
  }

  redraw();
  return {
    element,
    row: (key) => known.get(key),
    get defaults() {
      return defaults;
    },
    open(key) {
      current = key;
      saw(key, known.get(key)?.updatedAt ?? Date.now());
      redraw();
      if (isLoaded && !known.has(key)) reload(key).catch(() => undefined); // the list does not have it; the conversation says why
    },
    reload,
    forget(key) {
      known.delete(key);
      sort();
      redraw();
    },
    redraw,
  };
}
