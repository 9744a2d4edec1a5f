/** A paired device: who it is, what it may do, its tokens. */
import type { Static } from "@svc/sdk";
import { devices, type PairedDevice } from "@svc/sdk/devices";
import { html, nothing, type TemplateResult } from "lit";
import { Pencil, RotateCw, Trash2 } from "lucide";
import type { ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { command } from "../../parts/command.ts";
import { askFor, confirm, openDialog } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { badge, facts } from "../../parts/show.ts";
import { ago } from "../../parts/time.ts";
import { scopes } from "./pending.ts";

type Device = Static<typeof PairedDevice>;
type Token = NonNullable<Device["tokens"]>[number];

/** When a device was last seen: the last use of one of its tokens. epoch ms */
export function lastSeen({ tokens = [] }: Device): number | undefined {
  const times = tokens.flatMap(({ lastUsedAtMs }) => lastUsedAtMs ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

export function nameOf({ displayName, clientId, deviceId }: Device): string {
  return displayName ?? clientId ?? deviceId.slice(0, 12);
}

/** @param isOwn the device is this browser */
export function drawPaired(
  context: ViewContext,
  device: Device,
  { isOwn, isConnected }: { readonly isOwn: boolean; readonly isConnected: boolean },
  done: () => void,
): TemplateResult {
  const { deviceId, roles = [], platform, deviceFamily, clientId, clientMode, remoteIp, tokens = [] } = device;
  const name = nameOf(device);

  const rename = async () => {
    const values = await askFor({
      title: t.devices.renameOf(name),
      fields: [{ name: "name", label: t.devices.name, value: device.displayName ?? "", isRequired: true }],
      action: t.common.save,
      work: ({ name: given = "" }) => context.call(devices.rename, { deviceId, displayName: given }),
    });
    if (values) done();
  };
  const remove = async () => {
    const isDone = await confirm({
      title: t.devices.removeOf(name),
      text: html`<p>${isOwn ? t.devices.removeOwnText : t.devices.removeText}</p>`,
      action: t.devices.remove,
      isDangerous: true,
      work: () => context.call(devices.remove, { deviceId }),
    });
    if (isDone) done();
  };
  const revoke = (role: string) => async () => {
    const isDone = await confirm({
      title: t.devices.revokeOf(name, role),
      text: html`<p>${isOwn ? t.devices.revokeOwnText : t.devices.revokeText}</p>`,
      action: t.devices.revoke,
      isDangerous: true,
      work: () => context.call(devices.revoke, { deviceId, role }),
    });
    if (isDone) done();
  };
  const rotate = (role: string) => async () => {
    let token = "";
    const isDone = await confirm({
      title: t.devices.rotateOf(name, role),
      text: html`<p>${t.devices.rotateText}</p>`,
      action: t.devices.rotate,
      work: async () => ({ token } = await context.call(devices.rotate, { deviceId, role })),
    });
    if (!isDone) return;
    done();
    await openDialog({
      title: t.devices.newToken(name),
      body: ({ close }) =>
        html`<div class="content">
            <p>${t.devices.newTokenText}</p>
            ${command(token)}
          </div>
          <footer><button class="primary" @click=${() => close()}>${t.common.close}</button></footer>`,
    });
  };

  const drawToken = ({ role, scopes: held, createdAtMs, rotatedAtMs, revokedAtMs, lastUsedAtMs }: Token) =>
    html`<li class="token">
      <div>
        <p class="line">
          ${t.devices.tokenOf(role)} ${revokedAtMs === undefined ? nothing : badge(t.devices.revoked, "bad")}
        </p>
        ${facts([
          [t.devices.scopes, held.length === 0 ? undefined : scopes(held)],
          [t.devices.issued, ago(rotatedAtMs ?? createdAtMs)],
          [t.devices.lastUsed, lastUsedAtMs === undefined ? undefined : ago(lastUsedAtMs)],
        ])}
      </div>
      <div class="actions">
        ${
          isOwn
            ? nothing
            : html`<button aria-label=${t.devices.rotateOf(name, role)} @click=${rotate(role)}>
                ${icon(RotateCw)}${t.devices.rotate}
              </button>`
        }
        ${
          revokedAtMs === undefined
            ? html`<button class="danger" aria-label=${t.devices.revokeOf(name, role)} @click=${revoke(role)}>
                ${t.devices.revoke}
              </button>`
            : nothing
        }
      </div>
    </li>`;

  return html`<article class="card" aria-label=${name}>
    <header class="titled">
      <div class="line">
        <h3 class="break">${name}</h3>
        ${isOwn ? badge(t.devices.thisBrowser, "accent") : nothing}
        ${isConnected ? badge(t.devices.connected, "good") : nothing} ${roles.map((role) => badge(role))}
      </div>
      <button class="plain" aria-label=${t.devices.renameOf(name)} title=${t.devices.rename} @click=${rename}>
        ${icon(Pencil)}
      </button>
      <button class="plain" aria-label=${t.devices.removeOf(name)} title=${t.devices.remove} @click=${remove}>
        ${icon(Trash2)}
      </button>
    </header>
    ${facts([
      [t.devices.seen, isConnected ? t.devices.now : ago(lastSeen(device))],
      [t.devices.platform, [platform, deviceFamily].filter(Boolean).join(" · ")],
      [t.devices.client, [clientId, clientMode].filter(Boolean).join(" · ")],
      [t.devices.address, remoteIp],
      [t.devices.scopes, device.scopes?.length ? scopes(device.scopes) : undefined],
      [t.devices.approved, ago(device.approvedAtMs)],
      [t.devices.id, html`<code title=${deviceId}>${deviceId.slice(0, 16)} …</code>`],
    ])}
    ${
      tokens.length === 0
        ? nothing
        : html`<details>
            <summary>${t.devices.tokens(tokens.length)}</summary>
            <ul class="plain-list">
              ${tokens.map(drawToken)}
            </ul>
          </details>`
    }
  </article>`;
}
