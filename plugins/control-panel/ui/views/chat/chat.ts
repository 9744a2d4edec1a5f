/** Chat: a conversation with an agent. The list of messages and the composer draw themselves, so that neither waits for the other. */
import { agents as agentsContract } from "@svc/sdk/agents";
import { commands } from "@svc/sdk/commands";
import { html, nothing, type TemplateResult } from "lit";
import { ArrowDown } from "lucide";
import type { OpenView, ViewContext } from "../../core/app.ts";
import { pictureOf, readAssistant } from "../../core/assistant.ts";
import { inNextFrame } from "../../core/frame.ts";
import { t } from "../../core/text.ts";
import { icon } from "../../parts/icon.ts";
import { rows, type SvcRows } from "../../parts/rows.ts";
import { titleOf } from "../../parts/session.ts";
import { failed, waiting } from "../../parts/show.ts";
import { attempt } from "../../parts/toast.ts";
import { watchApprovals } from "./approvals.ts";
import { createComposer } from "./composer.ts";
import { type Conversation, openConversation } from "./conversation.ts";
import { createFind } from "./find.ts";
import { createHead } from "./head.ts";
import { asMarkdown, type ChatMessage, imagesOf, liveRows, type Row, storedRows, textOf } from "./messages.ts";
import { drawRow, type RowActions } from "./rows.ts";
import { createSessionList } from "./session-list.ts";
import "./chat.css";

/** Expected height of a row in pixels. */
const ROW_HEIGHT = 96;
/** Characters of an answer that are read out. */
const MAX_SAID = 1_000;

export default ((context) => {
  const defaults = sessionDefaultsOf(context);
  const maySend = context.may("operator.write");
  const agents = context.resource(async () =>
    context.serves(agentsContract.list) ? (await context.call(agentsContract.list, {})).agents : [],
  );
  const openKeys = new Set<string>();
  let conversation: Conversation;
  let closed = new AbortController();
  let stored: { readonly version: number; readonly rows: readonly Row[] } = { version: -1, rows: [] };
  let all: readonly Row[] = [];
  let isAtEnd = true;
  let isDragged = false;

  const list = document.createElement("svc-rows") as SvcRows;
  list.className = "messages";
  list.addEventListener("scroll", () =>
    requestAnimationFrame(() => {
      if (list.isAtEnd === isAtEnd) return; // after the list itself has seen the event
      ({ isAtEnd } = list);
      context.redraw();
    }),
  );
  const status = document.createElement("div");
  status.className = "unseen";
  status.setAttribute("role", "status");

  const agentIdOf = (key: string) => (key.startsWith("agent:") ? (key.split(":")[1] ?? "") : defaults.defaultAgentId);
  const agentNow = () => agents.value?.find(({ id }) => id === agentIdOf(conversation.key));
  const assistant = context.resource(readAssistant);
  const assistantNow = () => {
    const { value } = assistant;
    return value?.agentId === agentIdOf(conversation.key) ? value : undefined;
  };
  const agentName = () =>
    assistantNow()?.name || agentNow()?.identity?.name || agentNow()?.name || agentIdOf(conversation.key);
  const go = (key: string) => {
    sheet.close();
    context.go("chat", key === defaults.mainSessionKey ? {} : { session: key });
  };
  const create = (agentId = agentIdOf(conversation.key)) => {
    go(`agent:${agentId}:web-${crypto.randomUUID().slice(0, 8)}`);
    composer.focus();
  };

  const sessionList = createSessionList({
    context,
    agents: () => (agents.value ?? []).map(({ id, name, identity }) => ({ id, name: identity?.name ?? name ?? id })),
    go,
    create,
    changed: () => context.redraw(),
  });
  const sheet = createSheet(sessionList.element, context.signal);

  const approvals = watchApprovals(
    context,
    (key) => key === conversation.key,
    () => changed(),
  );
  const composer = createComposer({
    signal: context.signal,
    agentName,
    isBusy: () => conversation.isBusy,
    maySend,
    commands: async () => (context.serves(commands.list) ? (await context.call(commands.list, {})).commands : []),
    send(text, pictures, replaces) {
      conversation.send(text, pictures, replaces);
      list.scrollToEnd();
    },
    stop: () => void attempt(() => conversation.stop()),
    editLast() {
      const last = lastUser();
      if (last) edit(last);
    },
  });

  const find = createFind({
    rows: () => all,
    show: (index) => list.scrollToIndex(index),
    changed: () => {
      drawList();
      context.redraw();
    },
    async older() {
      const [oldest] = conversation.messages;
      await conversation.loadOlder();
      return conversation.messages[0] !== oldest && conversation.hasMore === true;
    },
    opened: () => requestAnimationFrame(() => requestAnimationFrame(() => input(".find input")?.focus())),
    closed: () => composer.focus(),
  });

  const head = createHead({
    context,
    find,
    now() {
      const { key, isBusy, hasMore } = conversation;
      const row = sessionList.row(key);
      const title = row ? titleOf(row) : key === defaults.mainSessionKey ? agentName() : t.chat.untitled;
      const isMain = key === defaults.mainSessionKey;
      return { key, row, title, defaults: sessionList.defaults, isMain, isBusy, hasOlder: hasMore === true };
    },
    showSessions: () => sheet.open(),
    send: (text) => conversation.send(text),
    markdown: () => asMarkdown(conversation.messages, { you: t.chat.you, agent: agentName() }),
    changed: () => sessionList.reload(conversation.key),
    startedOver: () => void Promise.all([conversation.refresh(), sessionList.reload(conversation.key)]),
    deleted(key) {
      sessionList.forget(key);
      if (conversation.key === key) go(defaults.mainSessionKey);
    },
  });

  const lastUser = (): ChatMessage | undefined => conversation.messages.findLast(({ role }) => role === "user");

  function edit(message: ChatMessage): void {
    composer.edit({ id: message.id, text: textOf(message), hasPictures: imagesOf(message).length > 0 });
  }

  const actions: RowActions = {
    get agentName() {
      return agentName();
    },
    maySend,
    get isBusy() {
      return conversation.isBusy;
    },
    get lastAnswer() {
      return all.findLast(({ kind }) => kind === "answer")?.key;
    },
    get lastUser() {
      return lastUser();
    },
    get found() {
      return find.found;
    },
    picturesOf: (message) => conversation.picturesOf(message),
    edit,
    again() {
      const last = lastUser();
      if (!last) return;
      const known = conversation.picturesOf(last);
      conversation.send(textOf(last), known.length > 0 || imagesOf(last).length === 0 ? known : undefined, last.id);
      list.scrollToEnd();
    },
    resend: (message) => conversation.resend(message),
    takeBack: (message) => void attempt(() => conversation.remove(message)),
    decide: (id, decision) => void attempt(() => approvals.decide(id, decision)),
    isOpen: (key) => openKeys.has(key),
    toggled(key, isOpen) {
      if (openKeys.has(key) === isOpen) return;
      if (isOpen) openKeys.add(key);
      else openKeys.delete(key);
      drawList();
    },
  };

  /** Shows the state of the conversation with the next frame. */
  const changed = inNextFrame(() => {
    if (context.signal.aborted) return;
    const wasEmpty = all.length === 0;
    const wasBusy = busy;
    drawList();
    busy = conversation.isBusy;
    if (wasBusy !== busy) composer.redraw();
    const facts = `${conversation.hasMore} ${busy} ${conversation.error === undefined} ${conversation.isLoadingOlder}`;
    if (facts !== shownFacts || wasEmpty !== (all.length === 0)) context.redraw();
    shownFacts = facts;
  });
  let busy = false;
  let shownFacts = "";

  function drawList(): void {
    const { version, messages, echoes, runs, outgoing } = conversation;
    if (version !== stored.version) {
      stored = { version, rows: storedRows(messages, echoes) };
      find.again();
    }
    all = [...stored.rows, ...liveRows(messages, runs.values(), outgoing, approvals.list)];
    list.list = rows<Row>({
      items: all,
      key: ({ key }) => key,
      row: (row) => drawRow(row, actions),
      height: ROW_HEIGHT,
      followsEnd: true,
      onStart: () => void conversation.loadOlder(),
      label: t.chat.conversation,
      role: "log",
    });
  }

  function open(): void {
    const key = canonical(context.place.params.get("session") ?? "", defaults);
    closed.abort();
    closed = new AbortController();
    const { signal } = closed;
    stored = { version: -1, rows: [] };
    all = [];
    conversation = openConversation({
      app: context,
      key,
      signal,
      changed,
      ended(text) {
        status.textContent = `${t.chat.finished(agentName())} ${text.slice(0, MAX_SAID)}`;
      },
    });
    if (find.isOpen) find.close();
    sessionList.open(key);
    composer.open(key);
    approvals.reload();
    drawList();
    list.scrollToEnd();
    context.redraw();
  }
  open();
  context.signal.addEventListener("abort", () => closed.abort(), { once: true });
  if (matchMedia("(min-width: 50.01rem)").matches) requestAnimationFrame(() => composer.focus());

  document.addEventListener(
    "keydown",
    (event) => {
      const isFind = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "f";
      if (!isFind || document.querySelector("dialog[open]")) return;
      if (find.isOpen && document.activeElement === input(".find input")) return; // the second time, the browser's own
      event.preventDefault();
      find.open();
    },
    { signal: context.signal },
  );

  function greeting(): TemplateResult {
    const name = agentName();
    return html`<div class="greeting">
      ${avatar(assistantNow() ?? agentNow()?.identity, name)}
      <h2>${t.chat.greeting(name)}</h2>
      ${
        maySend
          ? html`<p class="quiet">${t.chat.greetingText}</p>
              <div class="suggestions">
                ${t.chat.suggestions.map(
                  (text) => html`<button @click=${() => conversation.send(text)}>${text}</button>`,
                )}
              </div>`
          : nothing
      }
    </div>`;
  }

  function body(): TemplateResult {
    const { hasMore, error, isLoadingOlder } = conversation;
    if (hasMore === undefined && all.length === 0)
      return error === undefined ? waiting() : failed(error, () => void conversation.refresh());
    return html`${error === undefined ? nothing : failed(error, () => void conversation.refresh())}
    ${isLoadingOlder ? html`<p class="older" role="status"><span class="spinner small"></span>${t.chat.older}</p>` : nothing}
    ${all.length === 0 ? greeting() : list}
    ${
      isAtEnd || all.length === 0
        ? nothing
        : html`<button class="to-end" @click=${() => list.scrollToEnd()}>${icon(ArrowDown)}${t.chat.toEnd}</button>`
    }`;
  }

  /** The parts that draw themselves do not notice another language. */
  let drawnIn = t;
  function translate(): void {
    if (drawnIn === t) return;
    drawnIn = t;
    composer.redraw();
    sessionList.redraw();
    drawList();
  }

  return {
    navigated: open,
    render() {
      translate();
      return html`<div
        class="chat ${isDragged ? "dragged" : ""}"
        @dragover=${(event: DragEvent) => {
          if (!maySend || event.dataTransfer?.types.includes("Files") !== true) return;
          event.preventDefault();
          if (isDragged) return;
          isDragged = true;
          context.redraw();
        }}
        @dragleave=${(event: DragEvent) => {
          if ((event.currentTarget as Element).contains(event.relatedTarget as Node | null)) return;
          isDragged = false;
          context.redraw();
        }}
        @drop=${(event: DragEvent) => {
          if (!isDragged) return;
          event.preventDefault();
          isDragged = false;
          composer.attach([...(event.dataTransfer?.files ?? [])]);
          context.redraw();
        }}
      >
        <aside class="chat-sessions" aria-label=${t.chat.conversations}>${sheet.home}</aside>
        <section class="chat-main" aria-label=${t.chat.conversation}>
          ${head.render()}
          <div class="chat-body">${body()}</div>
          ${composer.element} ${status} ${isDragged ? html`<p class="drop">${t.chat.dropHere}</p>` : nothing}
        </section>
      </div>`;
    },
  };
}) satisfies OpenView;

function input(selector: string): HTMLInputElement | null {
  return document.querySelector<HTMLInputElement>(selector);
}

interface SessionDefaults {
  readonly defaultAgentId: string;
  readonly mainKey: string;
  readonly mainSessionKey: string;
}

/** What the gateway said about sessions when this browser signed in. */
function sessionDefaultsOf(context: ViewContext): SessionDefaults {
  const { snapshot } = context.connection.client?.hello ?? {};
  const given = (Object(snapshot) as { readonly sessionDefaults?: SessionDefaults }).sessionDefaults;
  return given ?? { defaultAgentId: "main", mainKey: "main", mainSessionKey: "agent:main:main" };
}

/** The key as events have it. Spec: protocol/methods-sessions.md §1. */
function canonical(text: string, { defaultAgentId, mainKey, mainSessionKey }: SessionDefaults): string {
  const key = text.trim().toLowerCase();
  if (key === "" || key === "main" || key === mainKey) return mainSessionKey;
  if (key === "global" || key === "unknown") return key;
  const full = key.startsWith("agent:") ? key : `agent:${defaultAgentId}:${key}`;
  return full.replace(/^(agent:[^:]+:)main$/, `$1${mainKey}`);
}

function avatar(
  identity: { readonly avatar?: string; readonly avatarUrl?: string; readonly emoji?: string } | undefined,
  name: string,
): TemplateResult {
  const { avatarUrl = "", avatar: given = "", emoji = "" } = identity ?? {};
  const picture = pictureOf(avatarUrl) ?? pictureOf(given);
  if (picture !== undefined) return html`<img class="avatar" src=${picture} alt="" />`;
  const text =
    emoji || (given !== "" && given.length <= 8 && !/[/.:]/.test(given) ? given : Array.from(name)[0]?.toUpperCase());
  return html`<span class="avatar" aria-hidden="true">${text}</span>`;
}

/** The list of conversations: beside the open one, or on a phone in front of it. */
function createSheet(
  content: HTMLElement,
  signal: AbortSignal,
): { readonly home: HTMLElement; open(): void; close(): void } {
  const home = document.createElement("div");
  home.className = "home";
  home.append(content);
  let dialog: HTMLDialogElement | undefined;
  addEventListener("popstate", () => dialog?.close(), { signal });
  return {
    home,
    open() {
      dialog = document.createElement("dialog");
      dialog.className = "session-sheet";
      dialog.setAttribute("aria-label", t.chat.conversations);
      dialog.append(content);
      dialog.addEventListener("close", () => {
        home.append(content);
        dialog?.remove();
        dialog = undefined;
      });
      dialog.addEventListener("click", (event) => event.target === dialog && dialog?.close());
      document.body.append(dialog);
      dialog.showModal();
    },
    close: () => dialog?.close(),
  };
}
