/** What people see before they are connected: why, and what to do. */
import { html, nothing, type TemplateResult } from "lit";
import { ShieldAlert } from "lucide";
import { OWN_GATEWAY } from "../core/address.ts";
import type { Connection, ConnectionState } from "../core/connection.ts";
import type { NoDevice } from "../core/device.ts";
import type { App } from "../core/app.ts";
import { t } from "../core/text.ts";
import { textOf } from "../parts/form.ts";
import { icon } from "../parts/icon.ts";
import { failed } from "../parts/show.ts";
import { command } from "../parts/command.ts";

export function signIn(app: App, state: ConnectionState): TemplateResult {
  return html`<main class="gate">${content(app, state)}</main>`;
}

function content({ connection }: App, state: ConnectionState): TemplateResult {
  switch (state.kind) {
    case "foreign":
      return panel(
        t.signIn.foreignTitle,
        html`<p>${t.signIn.foreignText(state.url)}</p>
          <p class="quiet">${t.signIn.noCheck}</p>
          <div class="actions">
            <button class="primary" autofocus @click=${() => connection.answerForeign(false)}>
              ${t.signIn.foreignNo}
            </button>
            <button @click=${() => connection.answerForeign(true)}>${t.signIn.foreignYes}</button>
          </div>`,
      );
    case "sign-in":
      return panel(t.signIn.title, html`${stranger(connection)} ${secretForm(connection.signIn, state.reason)}`);
    case "pairing":
      return panel(
        t.signIn.pairingTitle,
        html`<p>${t.signIn.pairingText}</p>
          ${stranger(connection)} ${command(`svc devices approve ${plainId(state.requestId)}`.trim())}
          <p class="quiet">${t.signIn.pairingOther} ${t.signIn.pairingDevice(state.deviceId.slice(0, 12))}</p>
          <p role="status" class="waiting-line"><span class="spinner"></span>${t.signIn.pairingWaits}</p>`,
      );
    case "no-device":
      return noDevice(state.why, connection.signIn);
    case "refused":
      return panel(
        t.signIn.refusedTitle,
        failed(state.reason, () => connection.retry()),
      );
    case "unreachable":
      return panel(
        t.signIn.unreachableTitle,
        html`<p role="status" class="waiting-line"><span class="spinner"></span>${t.signIn.unreachableText}</p>
          <p class="quiet">${state.reason.message}</p>
          <button @click=${() => connection.retry()}>${t.common.retry}</button>`,
      );
    default:
      return html`<p role="status" class="waiting-line"><span class="spinner"></span>${t.signIn.connecting}</p>`;
  }
}

/** Says which gateway asks if it is not that of the page: what people type goes to it. */
function stranger({ url }: Connection): TemplateResult | typeof nothing {
  if (url === OWN_GATEWAY) return nothing;
  return html`<div class="notice warning" role="alert"><p>${t.signIn.foreignAsks(url)}</p></div>`;
}

/** An id that people copy into a terminal. A gateway that nobody knows yet could send a command instead. */
function plainId(id: string | undefined): string {
  return id !== undefined && /^[\w-]{1,64}$/.test(id) ? id : "";
}

function panel(title: string, body: TemplateResult): TemplateResult {
  return html`<section class="card">
    <h1>${title}</h1>
    ${body}
  </section>`;
}

function secretForm(submit: (secret: string) => void, reason: unknown): TemplateResult {
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const secret = textOf(new FormData(event.target as HTMLFormElement), "secret").trim();
    if (secret !== "") submit(secret);
  };
  return html`${reason === undefined ? nothing : failed(reason)}
    <p>${t.signIn.text}</p>
    <form class="column" @submit=${onSubmit}>
      <label class="field">
        <span>${t.signIn.label}</span>
        <input name="secret" type="password" required autocomplete="current-password" autofocus />
      </label>
      <button class="primary">${t.signIn.action}</button>
    </form>
    <details>
      <summary>${t.signIn.whereIsIt}</summary>
      <p>${t.signIn.whereText}</p>
      ${command("svc dashboard")}
      <p class="quiet">${t.signIn.link}</p>
      ${command("svc gateway token")}
      <p class="quiet">${t.signIn.token}</p>
    </details>`;
}

function noDevice(why: NoDevice, submit: (secret: string) => void): TemplateResult {
  if (why === "no-ed25519") return panel(t.signIn.oldBrowserTitle, html`<p>${t.signIn.oldBrowserText}</p>`);
  if (why === "no-storage") return panel(t.signIn.noStorageTitle, html`<p>${t.signIn.noStorageText}</p>`);
  const port = location.port === "" ? "80" : location.port;
  return panel(
    t.signIn.insecureTitle,
    html`<p>${icon(ShieldAlert)} ${t.signIn.insecureText}</p>
      <h2>${t.signIn.insecureWays}</h2>
      <ol>
        <li>${t.signIn.tunnel} ${command(`ssh -N -L 18789:127.0.0.1:${port} ${location.hostname}`)}</li>
        <li>${t.signIn.https} ${command("svc config set gateway.tls.enabled true")}</li>
        <li>${t.signIn.local}</li>
      </ol>
      <details>
        <summary>${t.signIn.anyway}</summary>
        ${secretForm(submit, undefined)}
      </details>`,
  );
}
