/** Devices and nodes that wait for an approval, with what they ask for and what is new about it. */
import type { Static } from "@svc/sdk";
import { devices, type PairedDevice, type PendingDevice } from "@svc/sdk/devices";
import { nodes, type PendingNode } from "@svc/sdk/nodes";
import { html, nothing, type TemplateResult } from "lit";
import { Check, X } from "lucide";
import type { ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { confirm } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { badge, facts } from "../../parts/show.ts";
import { ago } from "../../parts/time.ts";

type Device = Static<typeof PendingDevice>;
type Paired = Static<typeof PairedDevice>;
type Older = Static<typeof PendingNode>;

/** A request of either store. */
export interface Waiting {
  readonly request: Partial<Device> & Older;
  /** The record of a device that is paired already. */
  readonly paired: Paired | undefined;
  /** In the store of devices; false: in the older store of nodes. */
  readonly isDevice: boolean;
}

/** Requests of both stores; the older one also lists nodes among the devices. */
export function waitingOf(
  pending: readonly Device[],
  paired: readonly Paired[],
  older: readonly Older[],
): readonly Waiting[] {
  const known = new Set(pending.map(({ requestId }) => requestId));
  const recordOf = (id: string) => paired.find(({ deviceId }) => deviceId === id);
  return [
    ...pending.map((request) => ({
      request: { ...request, nodeId: request.deviceId },
      paired: recordOf(request.deviceId),
      isDevice: true,
    })),
    ...older
      .filter(({ requestId }) => !known.has(requestId))
      .map((request) => ({ request, paired: recordOf(request.nodeId), isDevice: false })),
  ];
}

export function drawWaiting(context: ViewContext, waiting: Waiting, done: () => void): TemplateResult {
  const { request, paired, isDevice } = waiting;
  const name = request.displayName ?? request.nodeId.slice(0, 12);
  const rights = (
    [
      [t.devices.platform, changed(request.platform, paired?.platform)],
      [t.devices.family, changed(request.deviceFamily, paired?.deviceFamily)],
      [t.devices.roles, marked(request.roles ?? [], paired?.roles)],
      [t.devices.scopes, scopes(request.scopes ?? [], paired?.scopes)],
      [t.devices.commands, marked(request.commands ?? [], paired?.commands)],
    ] as const
  ).filter(([, value]) => value !== nothing);

  const approve = async () => {
    const { requestId } = request;
    const isDone = await confirm({
      title: t.devices.approveOf(name),
      text: html`<p>${t.devices.approveText}</p>
        ${facts(rights)}`,
      action: t.devices.approve,
      work: () =>
        isDevice ? context.call(devices.approve, { requestId }) : context.call(nodes.pairApprove, { requestId }),
    });
    if (isDone) done();
  };
  const reject = async () => {
    const { requestId } = request;
    const isDone = await confirm({
      title: t.devices.rejectOf(name),
      text: html`<p>${t.devices.rejectText}</p>`,
      action: t.devices.reject,
      isDangerous: true,
      work: () =>
        isDevice ? context.call(devices.reject, { requestId }) : context.call(nodes.pairReject, { requestId }),
    });
    if (isDone) done();
  };

  return html`<article class="card waiting-device" aria-label=${t.devices.requestOf(name)}>
    <header>
      <h3 class="break">${name}</h3>
      ${badge(reasonOf(waiting), request.isRepair === true ? "warning" : "accent")}
      <span class="fill"></span><span class="quiet">${ago(request.ts)}</span>
    </header>
    ${facts([
      ...rights,
      [t.devices.caps, request.caps?.join(", ")],
      [t.devices.client, [request.clientId, request.clientMode, request.version].filter(Boolean).join(" · ")],
      [t.devices.address, request.remoteIp],
      [t.devices.id, html`<code>${request.nodeId}</code>`],
    ])}
    ${isDevice ? nothing : html`<p class="quiet">${t.devices.olderText}</p>`}
    <div class="actions">
      <button class="primary" aria-label=${t.devices.approveOf(name)} @click=${approve}>
        ${icon(Check)}${t.devices.approve}
      </button>
      <button class="danger" aria-label=${t.devices.rejectOf(name)} @click=${reject}>
        ${icon(X)}${t.devices.reject}
      </button>
    </div>
  </article>`;
}

function reasonOf({ request: { reason, isRepair }, isDevice }: Waiting): string {
  if (reason !== undefined) return t.devices.reasons[reason];
  if (isRepair === true) return t.devices.repair;
  return isDevice ? t.devices.reasons["not-paired"] : t.devices.olderNode;
}

/** A fact that an approval would change. */
function changed(now: string | undefined, before: string | undefined) {
  if (now === undefined) return nothing;
  if (before === undefined || before === now) return html`${now}`;
  return html`<del>${before}</del> → ${badge(now, "warning")}`;
}

/** Names; those that the paired device does not have yet are marked. */
function marked(names: readonly string[], before: readonly string[] | undefined) {
  if (names.length === 0) return nothing;
  const isNew = (name: string) => before !== undefined && !before.includes(name);
  return html`<span class="line">${names.map((name) => badge(name, isNew(name) ? "warning" : "neutral"))}</span>`;
}

/** Scopes with what they allow. */
export function scopes(names: readonly string[], before?: readonly string[]) {
  if (names.length === 0) return nothing;
  const texts: Readonly<Record<string, string>> = t.devices.scopeTexts;
  const isNew = (name: string) => before !== undefined && !before.includes(name);
  return html`<span class="line"
    >${names.map((name) => html`<span title=${name}>${badge(texts[name] ?? name, isNew(name) ? "warning" : "neutral")}</span>`)}</span
  >`;
}
