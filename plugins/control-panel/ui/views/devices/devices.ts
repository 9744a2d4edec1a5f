/** Nodes and devices: who waits to be let in, who may connect, and what nodes can do. */
import { devicePairRequested, devicePairResolved, devices } from "@svc/sdk/devices";
import { health, presenceEvent } from "@svc/sdk/health";
import { nodePairRequested, nodePairResolved, nodes } from "@svc/sdk/nodes";
import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { QrCode } from "lucide";
import type { OpenView } from "../../core/app.ts";
import { readKept } from "../../core/kept.ts";
import { t } from "../../core/text.ts";
import { command } from "../../parts/command.ts";
import { icon } from "../../parts/icon.ts";
import { searchField } from "../../parts/search.ts";
import { empty, show } from "../../parts/show.ts";
import { matcher } from "../../parts/words.ts";
import { invite } from "./invite.ts";
import { drawNode, nodeName } from "./node.ts";
import { drawPaired, lastSeen, nameOf } from "./paired.ts";
import { drawWaiting, waitingOf } from "./pending.ts";
import "../../parts/form.css";
import "./devices.css";

/** From this number on there is a field to search in. */
const MANY = 8;

export default ((context) => {
  const mayPair = context.may("operator.pairing") && context.serves(devices.list);
  const pairing = mayPair
    ? context.resource(
        async () => {
          const [{ pending, paired }, older] = await Promise.all([
            context.call(devices.list, {}),
            context.serves(nodes.pairList) ? context.call(nodes.pairList, {}) : { pending: [] },
          ]);
          return { paired, waiting: waitingOf(pending, paired, older.pending) };
        },
        {
          events: [devicePairRequested, devicePairResolved, nodePairRequested, nodePairResolved, presenceEvent],
          everyMs: 20_000,
        },
      )
    : undefined;
  const nodeList = context.serves(nodes.list)
    ? context.resource(async () => (await context.call(nodes.list, {})).nodes, {
        events: [presenceEvent, devicePairResolved, nodePairResolved],
        everyMs: 10_000,
      })
    : undefined;
  const own = context.resource(async () => (await readKept(context.connection.url))?.deviceId ?? "");
  /** Devices with a connection. */
  const present = context.resource(
    async () => {
      const entries = context.serves(health.presence) ? await context.call(health.presence, {}) : [];
      return new Set(entries.flatMap(({ deviceId, reason }) => (reason === "disconnect" ? [] : (deviceId ?? []))));
    },
    { events: [presenceEvent] },
  );
  let search = "";
  const matches = (...texts: readonly (string | undefined)[]) => matcher(search)(texts.join(" "));
  const changed = () => {
    void pairing?.reload();
    void nodeList?.reload();
  };

  function waitingSection(): TemplateResult | typeof nothing {
    const waiting = pairing?.value?.waiting ?? [];
    if (waiting.length === 0) return nothing;
    return html`<section class="column" aria-label=${t.devices.waiting}>
      <h2>${t.devices.waiting}</h2>
      <div class="grid wide">
        ${repeat(
          waiting,
          ({ request }) => request.requestId,
          (one) => drawWaiting(context, one, changed),
        )}
      </div>
    </section>`;
  }

  function nodesSection(): TemplateResult | typeof nothing {
    if (!nodeList) return nothing;
    return html`<section class="column" aria-label=${t.devices.nodes}>
      <h2>${t.devices.nodes}</h2>
      ${show(nodeList, (all) => {
        if (all.length === 0) return empty(t.devices.noNodes, t.devices.noNodesText, command("svc node run"));
        const found = all.filter((node) => matches(nodeName(node), node.platform, node.nodeId));
        return html`<div class="grid wide">
          ${repeat(
            found,
            ({ nodeId }) => nodeId,
            (node) => drawNode(context, node, changed),
          )}
        </div>`;
      })}
    </section>`;
  }

  function devicesSection(): TemplateResult {
    return html`<section class="column" aria-label=${t.devices.devices}>
      <h2>${t.devices.devices}</h2>
      ${
        pairing
          ? show(pairing, ({ paired }) => {
              if (paired.length === 0) return empty(t.devices.noDevices, t.devices.noDevicesText);
              const isOwn = (deviceId: string) => deviceId === own.value;
              const seen = paired
                .filter((device) => matches(nameOf(device), device.platform, device.deviceId))
                .toSorted((one, other) => (lastSeen(other) ?? 0) - (lastSeen(one) ?? 0))
                .toSorted((one, other) => Number(isOwn(other.deviceId)) - Number(isOwn(one.deviceId)));
              return html`<div class="grid wide">
                ${repeat(
                  seen,
                  ({ deviceId }) => deviceId,
                  (device) => {
                    const { deviceId } = device;
                    const isConnected = present.value?.has(deviceId) ?? false;
                    return drawPaired(context, device, { isOwn: isOwn(deviceId), isConnected }, changed);
                  },
                )}
              </div>`;
            })
          : html`<p class="quiet">${context.may("operator.pairing") ? t.devices.pluginOff : t.devices.missingScope}</p>`
      }
    </section>`;
  }

  return {
    render: () => {
      const count = (pairing?.value?.paired.length ?? 0) + (nodeList?.value?.length ?? 0);
      return html`<div class="view">
        <header class="toolbar">
          <h1>${t.devices.title}</h1>
          <span class="fill"></span>
          ${
            count > MANY
              ? searchField(search, (text) => {
                  search = text;
                  context.redraw();
                })
              : nothing
          }
          ${
            mayPair && context.serves(devices.invite)
              ? html`<button class="primary" @click=${() => invite(context)}>
                  ${icon(QrCode)}${t.devices.invite}
                </button>`
              : nothing
          }
        </header>
        ${waitingSection()} ${nodesSection()} ${devicesSection()}
      </div>`;
    },
  };
}) satisfies OpenView;
