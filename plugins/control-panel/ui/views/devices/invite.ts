/** A link that lets one new browser in. It is a secret: shown once, never stored. */
import { devices } from "@svc/sdk/devices";
import { html, nothing } from "lit";
import { BASE } from "../../core/address.ts";
import type { App } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { command } from "../../parts/command.ts";
import { countdown } from "../../parts/countdown.ts";
import { openDialog } from "../../parts/dialog.ts";
import { qr } from "../../parts/qr.ts";
import { failed, waiting } from "../../parts/show.ts";

const TTL_MS = 15 * 60_000;

/** @param gateway WebSocket address of the gateway */
function inviteLink(gateway: string, token: string): string {
  return `${gateway.replace(/^ws/, "http")}${BASE.pathname}#invite=${encodeURIComponent(token)}`;
}

/** Why the link may not work on another machine; `undefined`: nothing known. */
function doubtOf(gateway: string): string | undefined {
  const { hostname, protocol } = new URL(gateway);
  if (/^(localhost|127\..*|\[::1\])$/.test(hostname)) return t.devices.inviteLocal;
  return protocol === "ws:" ? t.devices.inviteInsecure : undefined;
}

export async function invite(app: App): Promise<void> {
  const { url } = app.connection;
  let made: { readonly token: string; readonly expiresAtMs: number } | undefined;
  let isOver = false;
  const make = async () => {
    isOver = false;
    made = await app.call(devices.invite, { ttlMs: TTL_MS });
  };
  await openDialog({
    title: t.devices.invite,
    load: make,
    body: ({ close, redraw, run, isBusy, error }) => {
      const over = () => {
        isOver = true;
        redraw();
      };
      const doubt = doubtOf(url);
      const body = () => {
        if (error !== undefined) return failed(error, () => void run(make));
        if (isBusy || !made) return waiting();
        if (isOver) return html`<p>${t.devices.inviteOver}</p>`;
        const link = inviteLink(url, made.token);
        return html`<p>${t.devices.inviteText}</p>
          ${qr(link, t.devices.inviteCode)} ${command(link)}
          <p class="quiet">${t.devices.inviteLeft} ${countdown(made.expiresAtMs, over)}</p>`;
      };
      return html`<div class="content">
          ${doubt === undefined ? nothing : html`<div class="notice warning"><p>${doubt}</p></div>`} ${body()}
        </div>
        <footer>
          ${isOver ? html`<button ?disabled=${isBusy} @click=${() => run(make)}>${t.devices.inviteAgain}</button>` : nothing}
          <button class="primary" @click=${() => close()}>${t.common.close}</button>
        </footer>`;
    },
  });
}
