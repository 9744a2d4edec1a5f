/** The guided setup: one question after the other, as the gateway asks them. */
import type { ResultOf } from "@svc/sdk";
import { isGatewayError } from "@svc/sdk/errors";
import { wizard } from "@svc/sdk/wizard";
import { html, nothing, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { Check, Gauge, MessageSquare, Radio, Settings } from "lucide";
import type { OpenView } from "../core/app.ts";
import { t } from "../core/text.ts";
import { command } from "../parts/command.ts";
import { confirm } from "../parts/dialog.ts";
import { textOf } from "../parts/form.ts";
import { icon } from "../parts/icon.ts";
import { failed } from "../parts/show.ts";
import { relative } from "../parts/time.ts";
import "./setup.css";

type Progress = ResultOf<typeof wizard.next>;
type Step = NonNullable<Progress["step"]>;
type Option = NonNullable<Step["options"]>[number];

/** Where the page stands. `before` also follows the end of a session. */
type Stage =
  | { readonly kind: "before" }
  | { readonly kind: "working" }
  | { readonly kind: "other"; readonly sessionId: string; readonly startedAt?: number }
  | { readonly kind: "step"; readonly step: Step }
  | { readonly kind: "over"; readonly status: Progress["status"]; readonly error?: string };

/** A step may wait minutes for a person or a download; the gateway ends it after five. */
const STEP_MS = 330_000;
const KEY = "svc-panel.setup";

export default ((context) => {
  let stage: Stage = { kind: "before" };
  let failure: unknown;
  let answered = 0;
  let sessionId = sessionStorage.getItem(KEY) ?? undefined;

  const show = (next: Stage) => {
    stage = next;
    if (!context.signal.aborted) context.redraw();
  };
  const remember = (id: string | undefined) => {
    sessionId = id;
    if (id === undefined) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, id);
  };

  function arrive({ done, step, status, error }: Progress): void {
    failure = undefined;
    if (!done && step) return show({ kind: "step", step });
    remember(undefined);
    show({ kind: "over", status, ...(error === undefined ? {} : { error }) });
  }

  /** Runs a call; after a failure, what was there before stays. */
  async function work(call: () => Promise<Progress>): Promise<void> {
    const before: Stage = stage.kind === "working" ? { kind: "before" } : stage;
    const id = sessionId;
    show({ kind: "working" });
    try {
      const progress = await call();
      if (id === undefined || id === sessionId) arrive(progress); // else: cancelled meanwhile
    } catch (error) {
      if (id !== undefined && id !== sessionId) return;
      failure = error;
      show(before);
    }
  }

  async function start(workspace = ""): Promise<void> {
    remember(undefined);
    answered = 0;
    await work(async () => {
      const params = workspace.trim() === "" ? {} : { workspace: workspace.trim() };
      const { sessionId: id, ...progress } = await context.call(wizard.start, params, { timeoutMs: STEP_MS });
      remember(id);
      return progress;
    });
    const other = runningIn(failure);
    if (!other) return;
    failure = undefined;
    show({ kind: "other", ...other });
  }

  /** Without an answer: the current step again. */
  async function next(answer?: { readonly stepId: string; readonly value?: unknown }): Promise<void> {
    const id = sessionId;
    if (id === undefined) return;
    await work(() =>
      context.call(wizard.next, { sessionId: id, ...(answer ? { answer } : {}) }, { timeoutMs: STEP_MS }),
    );
    if (answer && failure === undefined) answered++;
  }

  /** Continues a setup that this browser or somebody else began. */
  async function resume(id: string): Promise<void> {
    remember(id);
    await next();
    if (isGatewayError(failure) && failure.code === "INVALID_REQUEST") {
      failure = undefined; // it has ended meanwhile
      remember(undefined);
      show({ kind: "before" });
    }
  }

  async function cancel(): Promise<void> {
    const id = sessionId;
    if (id === undefined) return;
    const isSure = await confirm({
      title: t.setup.cancelTitle,
      text: t.setup.cancelText,
      action: t.setup.cancel,
      isDangerous: true,
      work: () => context.call(wizard.cancel, { sessionId: id }),
    });
    if (!isSure) return;
    remember(undefined);
    failure = undefined;
    show({ kind: "over", status: "cancelled" });
  }

  async function replace(id: string): Promise<void> {
    await context.call(wizard.cancel, { sessionId: id }).catch(() => undefined); // it may have ended by itself
    await start();
  }

  if (sessionId !== undefined) void resume(sessionId);
  context.onFresh(() => {
    // A call was lost with the connection; the gateway still knows the step.
    if (failure !== undefined && sessionId !== undefined) void resume(sessionId);
  });

  const draw = (): TemplateResult => {
    switch (stage.kind) {
      case "before":
        return html`<p>${t.setup.intro}</p>
          <form
            class="column"
            @submit=${(event: SubmitEvent) => {
              event.preventDefault();
              void start(textOf(new FormData(event.target as HTMLFormElement), "workspace"));
            }}
          >
            <label class="field">
              <span>${t.setup.workspace}</span>
              <input name="workspace" autocomplete="off" spellcheck="false" />
              <small>${t.setup.workspaceHint}</small>
            </label>
            <div class="actions"><button class="primary">${t.setup.start}</button></div>
          </form>`;
      case "working":
        return html`<div class="waiting-line" role="status"><span class="spinner"></span>${t.setup.working}</div>
          <p class="quiet">${t.setup.workingText}</p>
          ${sessionId === undefined ? nothing : html`<div class="actions">${cancelButton()}</div>`}`;
      case "other": {
        const { sessionId: id, startedAt } = stage;
        return html`<h2>${t.setup.running}</h2>
          <p>${t.setup.runningText(startedAt === undefined ? "" : relative(startedAt))}</p>
          <div class="actions">
            <button class="primary" @click=${() => void resume(id)}>${t.setup.resume}</button>
            <button class="danger" @click=${() => void replace(id)}>${t.setup.restart}</button>
          </div>`;
      }
      case "step":
        return html`${keyed(stage.step.id, question(stage.step))}`;
      case "over":
        return ending(stage.status, stage.error);
    }
  };

  const cancelButton = () => html`<button type="button" @click=${cancel}>${t.setup.cancel}</button>`;

  function question(step: Step): TemplateResult {
    const { id, title, message } = step;
    const submit = (event: SubmitEvent) => {
      event.preventDefault();
      void next({
        stepId: id,
        value: ANSWERS[step.type](new FormData(event.target as HTMLFormElement, event.submitter), step),
      });
    };
    if (!(step.type in CONTROLS))
      return html`<p>${t.setup.unknownStep}</p>
        ${command("svc onboard")}${cancelButton()}`;
    return html`<form class="column setup-step" data-step=${id} @submit=${submit}>
      <h2 class="break">${title ?? t.setup.step(answered + 1)}</h2>
      ${message === undefined || message === "" ? nothing : html`<div class="setup-text break" id="setup-message">${linked(message)}</div>`}
      ${CONTROLS[step.type](step)}
      <div class="actions">
        ${
          step.type === "confirm"
            ? html`<button class=${step.initialValue === false ? "" : "primary"} name="yes" value="yes">
                  ${t.common.yes}
                </button>
                <button class=${step.initialValue === false ? "primary" : ""} name="yes" value="">
                  ${t.common.no}
                </button>`
            : html`<button class="primary">${t.setup.continue}</button>`
        }
        <span class="fill"></span>${cancelButton()}
      </div>
    </form>`;
  }

  function ending(status: Progress["status"], error?: string): TemplateResult {
    const again = html`<button @click=${() => show({ kind: "before" })}>${t.setup.again}</button>`;
    if (status === "error")
      return html`<h2>${t.setup.failed}</h2>
        ${failed(new Error(error ?? ""))}
        <div class="actions">${again}</div>`;
    if (status === "cancelled")
      return html`<h2>${t.setup.cancelled}</h2>
        <p>${t.setup.cancelledText}</p>
        <div class="actions">${again}</div>`;
    const links = NEXT.filter(({ method }) => method === undefined || context.serves(method));
    return html`<h2>${icon(Check)} ${t.setup.done}</h2>
      <p>${t.setup.doneText}</p>
      <div class="setup-next">
        ${links.map(
          ({ view, symbol }) => html`<button @click=${() => context.go(view)}>${icon(symbol)}${t.setup[view]}</button>`,
        )}
      </div>
      <div class="actions">${again}</div>`;
  }

  return {
    render: () =>
      html`<div class="view setup">
        <header><h1>${t.setup.title}</h1></header>
        ${
          failure === undefined
            ? nothing
            : failed(failure, sessionId === undefined ? undefined : () => void resume(sessionId ?? ""))
        }
        <section class="card" aria-live="polite">${draw()}</section>
      </div>`,
  };
}) satisfies OpenView;

/** Views that help after the setup, and a method that each one needs. */
const NEXT = [
  { view: "chat", symbol: MessageSquare, method: "chat.send" },
  { view: "channels", symbol: Radio, method: "channels.status" },
  { view: "config", symbol: Settings, method: "config.get" },
  { view: "overview", symbol: Gauge, method: undefined },
] as const;

/** The session of a setup that somebody else runs. */
function runningIn(error: unknown): { readonly sessionId: string; readonly startedAt?: number } | undefined {
  const details = Object(isGatewayError(error) ? error.details : undefined) as Readonly<Record<string, unknown>>;
  const { code, sessionId, startedAt } = details;
  if (code !== "WIZARD_RUNNING" || typeof sessionId !== "string") return undefined;
  return { sessionId, ...(typeof startedAt === "number" ? { startedAt } : {}) };
}

const CONTROLS: Readonly<Record<Step["type"], (step: Step) => TemplateResult | typeof nothing>> = {
  note: () => nothing,
  confirm: () => nothing,
  text: ({ title, placeholder = "", initialValue, sensitive = false }) =>
    html`<input
      name="value"
      type=${sensitive ? "password" : "text"}
      autocomplete=${sensitive ? "new-password" : "off"}
      spellcheck="false"
      maxlength="10000"
      aria-label=${title ?? t.setup.answer}
      aria-describedby="setup-message"
      placeholder=${placeholder}
      .defaultValue=${typeof initialValue === "string" ? initialValue : ""}
    />`,
  select: (step) =>
    options(step, "radio", (value, index) =>
      step.initialValue === undefined ? index === 0 : value === step.initialValue,
    ),
  multiselect: (step) =>
    options(step, "checkbox", (value) => Array.isArray(step.initialValue) && step.initialValue.includes(value)),
};

const ANSWERS: Readonly<Record<Step["type"], (data: FormData, step: Step) => unknown>> = {
  note: () => undefined,
  confirm: (data) => data.get("yes") === "yes",
  text: (data) => textOf(data, "value"),
  select: (data, { options: all = [] }) => all[Number(data.get("value"))]?.value,
  multiselect: (data, { options: all = [] }) => data.getAll("value").map((index) => all[Number(index)]?.value),
};

function options(
  { id, title, options: all = [] }: Step,
  type: "radio" | "checkbox",
  isOn: (value: unknown, index: number) => boolean,
): TemplateResult {
  return html`<fieldset class="setup-options" aria-label=${title ?? t.setup.answer} aria-describedby="setup-message">
    ${all.map(
      ({ value, label, hint }: Option, index) =>
        html`<label class="setup-option">
          <input type=${type} name="value" value=${index} data-step=${id} .defaultChecked=${isOn(value, index)} />
          <span class="break">${label}${hint === undefined ? nothing : html`<small>${hint}</small>`}</span>
        </label>`,
    )}
  </fieldset>`;
}

/** A text whose web addresses can be opened. It comes from plugins, so it stays text. */
function linked(text: string): readonly (string | TemplateResult)[] {
  return text.split(/(https?:\/\/[^\s<>"')\]]+)/).map((part, index) => {
    if (index % 2 === 0 || !URL.canParse(part)) return part;
    return html`<a href=${part} target="_blank" rel="noopener noreferrer">${part}</a>`;
  });
}
