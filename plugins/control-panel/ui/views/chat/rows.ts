/** How the rows of a conversation look. */
import { html, nothing, type TemplateResult } from "lit";
import { Brain, Check, CircleAlert, Copy, Pencil, RefreshCw, RotateCw, ShieldQuestionMark, Wrench, X } from "lucide";
import { hrefOf } from "../../core/address.ts";
import { t } from "../../core/text.ts";
import { copy } from "../../parts/command.ts";
import { detailsOf } from "../../parts/failure.ts";
import { icon } from "../../parts/icon.ts";
import { facts } from "../../parts/show.ts";
import { absolute, bytes, fullDay, timeOfDay } from "../../parts/time.ts";
import type { LiveRun, Notice, Outgoing } from "./live.ts";
import {
  type Block,
  type Call,
  type ChatMessage,
  factsOf,
  imagesOf,
  type Row,
  textOf,
  thinkingOf,
} from "./messages.ts";
import type { Picture } from "./pictures.ts";
import { growingProse, prose } from "./prose.ts";

/** What people can do with rows. */
export interface RowActions {
  readonly agentName: string;
  /** This browser may send messages. */
  readonly maySend: boolean;
  readonly isBusy: boolean;
  /** Id of the last answer and of the last message of the user. */
  readonly lastAnswer: string | undefined;
  readonly lastUser: ChatMessage | undefined;
  /** Key of the row that a search found. */
  readonly found: string | undefined;
  picturesOf(message: ChatMessage): readonly Picture[];
  edit(message: ChatMessage): void;
  /** Sends the last message of the user again in its place. */
  again(): void;
  resend(message: Outgoing): void;
  takeBack(message: Outgoing): void;
  decide(id: string, decision: "allow-once" | "deny"): void;
  /** Whether a folded part is open; it stays so while it scrolls out of sight. */
  isOpen(key: string): boolean;
  toggled(key: string, isOpen: boolean): void;
}

export function drawRow(row: Row, actions: RowActions): TemplateResult {
  const isFound = row.key === actions.found;
  return html`<div class="message-row ${row.kind} ${isFound ? "found" : ""}" data-key=${row.key}>
    ${content(row, actions)}
  </div>`;
}

function content(row: Row, actions: RowActions): TemplateResult {
  switch (row.kind) {
    case "day":
      return html`<p class="mark">${fullDay(row.at)}</p>`;
    case "compaction":
      return html`<p class="mark">${t.chat.compacted}</p>`;
    case "user":
      return userMessage(row.message, actions);
    case "answer":
      return answer(row.message, actions);
    case "tools":
      return tools(row.key, row.calls, actions);
    case "echo":
      return bubble(html`<code>${row.text}</code>`);
    case "live":
      return live(row.run, row.text, actions);
    case "outgoing":
      return outgoing(row.message, actions);
    case "approval":
      return approval(row, actions);
  }
}

function bubble(text: unknown): TemplateResult {
  return html`<div class="bubble">
    <h2 class="unseen">${t.chat.you}</h2>
    ${text}
  </div>`;
}

function userMessage(message: ChatMessage, actions: RowActions): TemplateResult {
  const text = textOf(message);
  const known = actions.picturesOf(message);
  const images = imagesOf(message);
  const { origin } = message;
  return html`${bubble(
      html`${known.length > 0 ? known.map(({ url, name }) => shownPicture(url, name)) : images.map(image)}
      ${text === "" ? nothing : prose(message, text)}`,
    )}
    <div class="under">
      ${origin?.kind === undefined || origin.kind === "person" ? nothing : html`<span>${t.chat.fromOutside(origin.kind)}</span>`}
      ${time(message.timestamp)} ${text === "" ? nothing : copyButton(text)}
      ${actions.maySend ? small(t.chat.edit, Pencil, () => actions.edit(message)) : nothing}
    </div>`;
}

function answer(message: ChatMessage, actions: RowActions): TemplateResult {
  const { id, stopReason } = message;
  const text = textOf(message);
  const isLast = id === actions.lastAnswer;
  const mayRepeat = isLast && actions.maySend && !actions.isBusy && actions.lastUser !== undefined;
  return html`<h2 class="unseen">${actions.agentName}</h2>
    ${thoughts(`think-${id}`, thinkingOf(message), message, actions)}
    ${text.trim() === "" ? nothing : prose(message, text)} ${imagesOf(message).map(image)}
    ${stopReason === "aborted" ? html`<p class="note">${t.chat.stopped}</p>` : nothing}
    ${stopReason === "length" ? html`<p class="note">${t.chat.cutOff}</p>` : nothing}
    ${stopReason === "error" ? failure(t.chat.failed, new Error(message.errorMessage), mayRepeat ? () => actions.again() : undefined) : nothing}
    <div class="under">
      ${time(message.timestamp)} ${text === "" ? nothing : copyButton(text)}
      ${mayRepeat && stopReason !== "error" ? small(t.chat.regenerate, RefreshCw, () => actions.again()) : nothing}
      ${message.provider === "svc" || message.model === undefined ? nothing : html`<span>${message.model}</span>`}
    </div>`;
}

/** A failure with its cause, the next step if one is known, and a way to try again. @param role `alert`: it is news */
function failure(title: string, error: unknown, again?: () => void, role?: "alert"): TemplateResult {
  const { message, next } = detailsOf(error);
  return html`<div class="notice bad" role=${role ?? nothing}>
    ${icon(CircleAlert)}
    <div>
      <p><strong>${title}</strong>${message === "" ? nothing : html`: ${message}`}</p>
      ${next === undefined ? nothing : html`<p class="next">${t.common.next}: ${next}</p>`}
    </div>
    ${again ? html`<button @click=${again}>${icon(RotateCw)}${t.common.retry}</button>` : nothing}
  </div>`;
}

function thoughts(
  key: string,
  text: string,
  owner: object,
  actions: RowActions,
  isLive = false,
): TemplateResult | typeof nothing {
  if (text.trim() === "") return nothing;
  const owned = thoughtsOf(owner);
  return folded(
    key,
    html`${icon(Brain)} ${isLive ? t.chat.isThinking : t.chat.thinking}`,
    actions,
    () => html`<div class="thoughts">${isLive ? growingProse(owned, text) : prose(owned, text)}</div>`,
  );
}

const thoughtOwners = new WeakMap<object, object>();

/** A message has two texts, and each has its own nodes. */
function thoughtsOf(owner: object): object {
  const known = thoughtOwners.get(owner) ?? {};
  thoughtOwners.set(owner, known);
  return known;
}

function folded(
  key: string,
  summary: TemplateResult,
  actions: RowActions,
  inside: () => TemplateResult,
): TemplateResult {
  const isOpen = actions.isOpen(key);
  return html`<details
    ?open=${isOpen}
    @toggle=${(event: Event) => actions.toggled(key, (event.target as HTMLDetailsElement).open)}
  >
    <summary>${summary}</summary>
    ${isOpen ? inside() : nothing}
  </details>`;
}

function tools(key: string, calls: readonly Call[], actions: RowActions): TemplateResult {
  const cards = calls.map((call) => tool(call, actions));
  if (calls.length === 1) return html`${cards}`;
  const states = calls.map(stateOf);
  const worst = (["failed", "running", "done"] as const).find((state) => states.includes(state)) ?? "done";
  return html`<div class="tool-group">
    ${folded(key, html`${icon(Wrench)} ${t.chat.tools(calls.length)} ${state(worst)}`, actions, () => html`${cards}`)}
  </div>`;
}

type ToolState = "running" | "done" | "failed";

function stateOf({ result, live }: Call): ToolState {
  if (result) return result.isError === true ? "failed" : "done";
  return live?.state ?? "running";
}

function state(of: ToolState): TemplateResult {
  const looks = { running: "accent", done: "good", failed: "bad" }[of];
  const words = { running: t.chat.toolRunning, done: t.chat.toolDone, failed: t.chat.toolFailed }[of];
  return html`<span class="badge ${looks}"
    >${of === "running" ? html`<span class="spinner small"></span>` : nothing}${words}</span
  >`;
}

function tool(call: Call, actions: RowActions): TemplateResult {
  const { id, name, args, result, live } = call;
  const now = stateOf(call);
  const text = result ? textOf(result) : (live?.partial ?? "");
  const pictures = result ? imagesOf(result) : [];
  const summary = html`${icon(Wrench)} <strong>${name}</strong>
    <span class="ellipsis quiet">${brief(args)}</span> ${state(now)}`;
  return html`<div class="tool ${now}">
    ${folded(
      `tool-${id}`,
      summary,
      actions,
      () =>
        html`<div class="tool-facts">
          ${facts(factsOf(args))}
          ${
            now === "running" && text === ""
              ? nothing
              : html`<h3>${t.chat.result}</h3>
                  <pre class="result">${text === "" ? t.chat.noResult : text}</pre>
                  ${pictures.map(image)}`
          }
        </div>`,
    )}
    ${now === "failed" && !actions.isOpen(`tool-${id}`) ? html`<p class="tool-error">${firstLine(text)}</p>` : nothing}
  </div>`;
}

function firstLine(text: string): string {
  const [line = ""] = text.trim().split("\n", 1);
  return line.length > 300 ? `${line.slice(0, 300)} …` : line;
}

/** The arguments in one line. */
function brief(args: unknown): string {
  const [first] = factsOf(args);
  return first ? firstLine(first[1]).slice(0, 120) : "";
}

function live(run: LiveRun, text: string, actions: RowActions): TemplateResult {
  const { runId, thinking, notices, isCompacting } = run;
  return html`<h2 class="unseen">${actions.agentName}</h2>
    ${notices.map(notice)} ${thoughts(`think-${runId}`, thinking, run, actions, text === "")}
    ${text === "" ? nothing : growingProse(run, text)}
    ${isCompacting ? html`<p class="note"><span class="spinner small"></span> ${t.chat.compacting}</p>` : nothing}
    <p class="typing" role="img" aria-label=${t.chat.isWriting(actions.agentName)}>
      <span></span><span></span><span></span>
    </p>`;
}

function notice(one: Notice): TemplateResult {
  if (one.kind === "stopped") return html`<p class="note">${t.chat.stopped}</p>`;
  const { from, to, reason } = one;
  return html`<p class="notice warning">${t.chat.fallback(from, to)} ${reason}</p>`;
}

function outgoing(message: Outgoing, actions: RowActions): TemplateResult {
  const { text, pictures, state: now, error } = message;
  const isWaiting = now === "queued" || now === "held";
  const words = { held: t.chat.held, queued: t.chat.queued, sending: t.chat.sending, started: "", failed: "" }[now];
  return html`${bubble(
    html`${pictures.map(({ url, name }) => shownPicture(url, name))} ${text === "" ? nothing : prose(message, text)}`,
  )}
  ${
    now === "failed"
      ? html`<div class="not-sent">
          ${failure(t.chat.notSent, error, () => actions.resend(message), "alert")}
          <button class="plain" @click=${() => actions.takeBack(message)}>${icon(X)}${t.chat.takeBack}</button>
        </div>`
      : html`<div class="under shown">
          <span>${words}</span>
          ${
            isWaiting
              ? html`<button class="plain" @click=${() => actions.takeBack(message)}>${t.chat.takeBack}</button>`
              : nothing
          }
        </div>`
  }`;
}

function approval(
  { approval: { id, request } }: Extract<Row, { kind: "approval" }>,
  actions: RowActions,
): TemplateResult {
  return html`<section class="notice warning approval" aria-label=${t.chat.approval}>
    ${icon(ShieldQuestionMark)}
    <div>
      <p><strong>${t.chat.approval}</strong></p>
      <pre class="result">${request.command}</pre>
      ${facts([
        [t.chat.where, request.cwd],
        [t.chat.why, request.because],
      ])}
      <p class="actions">
        <button class="primary" @click=${() => actions.decide(id, "allow-once")}>
          ${icon(Check)}${t.chat.allowOnce}
        </button>
        <button class="danger" @click=${() => actions.decide(id, "deny")}>${icon(X)}${t.chat.deny}</button>
        <a class="button plain" href=${hrefOf("approvals")}>${t.chat.toApprovals}</a>
      </p>
    </div>
  </section>`;
}

/** A picture of the history. Only data of the message itself is shown, never an address. */
function image({ data, mimeType = "", omitted, bytes: length = 0 }: Block): TemplateResult {
  const isShown = data !== undefined && /^image\/(png|jpeg|gif|webp)$/.test(mimeType);
  if (isShown) return shownPicture(`data:${mimeType};base64,${data}`, t.chat.picture);
  return html`<p class="note">${omitted === true ? t.chat.pictureOmitted(bytes(length * 0.75)) : t.chat.picture}</p>`;
}

function shownPicture(url: string, name: string): TemplateResult {
  return html`<img class="picture" src=${url} alt=${name} />`;
}

function time(at: number): TemplateResult {
  if (at === 0) return html``;
  return html`<time datetime=${new Date(at).toISOString()} title=${absolute(at)}>${timeOfDay(at)}</time>`;
}

function copyButton(text: string): TemplateResult {
  return small(t.chat.copyText, Copy, () => copy(text));
}

function small(label: string, symbol: Parameters<typeof icon>[0], run: () => void): TemplateResult {
  return html`<button class="plain" aria-label=${label} title=${label} @click=${run}>${icon(symbol)}</button>`;
}
