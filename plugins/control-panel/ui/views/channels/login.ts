/** The login of an account in steps: forms, links, QR codes that renew themselves. Values that people type are only sent, never read back. */
import { channelLogin, type LoginStepView } from "@svc/sdk/channels";
import type { Static } from "@svc/sdk";
import { html, nothing, type TemplateResult } from "lit";
import type { App } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { command } from "../../parts/command.ts";
import { countdown } from "../../parts/countdown.ts";
import { openDialog } from "../../parts/dialog.ts";
import { qr } from "../../parts/qr.ts";
import { failed, waiting } from "../../parts/show.ts";

type Step = Static<typeof LoginStepView>;

export interface LoginTarget {
  readonly channel: string;
  readonly label: string;
  /** Absent: the default account. */
  readonly accountId?: string;
}

/** @returns whether the login reached its end */
export async function logIn(app: App, { channel, label, accountId }: LoginTarget): Promise<boolean> {
  let loginId: string | undefined;
  let step: Step | undefined;
  let expiresAtMs: number | undefined;
  let path: string | undefined;
  let error: unknown;
  let isBusy = false;
  let isClosed = false;
  let draw = () => {};

  async function go(call: () => ReturnType<typeof next>): Promise<void> {
    error = undefined;
    isBusy = true;
    draw();
    try {
      const answer = await call();
      ({ loginId, step, expiresAtMs, path } = { path: undefined, expiresAtMs: undefined, ...answer });
      if (isClosed) await cancel(); // closed while the first step was on its way
    } catch (failure) {
      error = failure;
    }
    isBusy = false;
    if (isClosed) return;
    draw();
    if (error === undefined && step?.kind === "form")
      document.querySelector<HTMLElement>("dialog[open] .login input")?.focus();
    if (error === undefined && step?.kind === "show") void go(() => next({})); // waits until it was used, or for a newer code
  }
  const start = () =>
    go(() => app.call(channelLogin.start, { channel, ...(accountId === undefined ? {} : { accountId }) }));
  const next = (answers: Readonly<Record<string, string>>) =>
    app.call(channelLogin.next, { loginId: loginId ?? "", answers }, { timeoutMs: 0 });
  async function cancel(): Promise<void> {
    if (loginId === undefined || step?.kind === "done" || !app.serves(channelLogin.cancel)) return;
    await app.call(channelLogin.cancel, { loginId }).catch(() => undefined); // it ends by itself, too
  }

  function drawStep(shown: Step): TemplateResult {
    const { kind, message, url, qr: code, fields = [] } = shown;
    return html`<p class="break message">${message}</p>
      ${url !== undefined && /^https?:/i.test(url) ? html`<a class="break" href=${url} target="_blank" rel="noopener noreferrer">${url}</a>` : nothing}
      ${
        code === undefined
          ? nothing
          : html`${qr(code, t.channels.qrOf(label))}
              <details>
                <summary>${t.channels.codeAsText}</summary>
                ${command(code)}
              </details>`
      }
      ${
        kind === "show" && expiresAtMs !== undefined
          ? html`<p class="quiet line">
              <span class="spinner"></span>${t.channels.waitsForScan} ${countdown(expiresAtMs)}
            </p>`
          : nothing
      }
      ${fields.map(
        ({ key, label: name, help, secret = false, optional = false }) =>
          html`<label class="field"
            ><span>${optional ? t.channels.optional(name) : name}</span>
            <input
              name=${key}
              type=${secret ? "password" : "text"}
              ?required=${!optional}
              autocomplete="off"
              spellcheck="false"
            />
            ${help === undefined ? nothing : html`<small>${help}</small>`}
          </label>`,
      )}
      ${fields.some(({ secret }) => secret === true) ? html`<small>${t.channels.variableHint}</small>` : nothing}
      ${path === undefined ? nothing : html`<p class="quiet">${t.channels.written} <code>${path}</code></p>`}`;
  }

  const result = openDialog<true>({
    title: t.channels.logInOf(label),
    body: ({ close, redraw }) => {
      draw = redraw;
      const submit = (event: SubmitEvent) => {
        event.preventDefault();
        const data = new FormData(event.target as HTMLFormElement);
        const given = [...data]
          .map(([key, value]) => [key, typeof value === "string" ? value.trim() : ""] as const)
          .filter(([, value]) => value !== "");
        void go(() => next(Object.fromEntries(given)));
      };
      const isDone = step?.kind === "done";
      const again = step?.kind === "form" ? undefined : () => void start(); // the values of a form are still there
      return html`<form @submit=${submit}>
        <div class="content login">
          ${step ? drawStep(step) : error === undefined ? waiting() : nothing}
          ${error === undefined ? nothing : failed(error, again)}
        </div>
        <footer>
          ${
            isDone
              ? html`<button type="button" class="primary" @click=${() => close(true)}>${t.common.close}</button>`
              : html`<button type="button" @click=${() => close()}>${t.common.cancel}</button>`
          }
          ${step?.kind === "form" ? html`<button class="primary" ?disabled=${isBusy}>${t.channels.continue}</button>` : nothing}
        </footer>
      </form>`;
    },
  });
  void start();
  await result;
  isClosed = true;
  await cancel();
  return (step as Step | undefined)?.kind === "done";
}
