/** `svc devices ...` manages the devices of this gateway; `svc pairing ...` pairs this machine with a gateway. */
import { join as joinPath } from "node:path";
import { type CommandContext, defineCommands, show, visible, withGateway } from "@svc/sdk/cli";
import { connect } from "@svc/sdk/client";
import { readDevice } from "@svc/sdk/device";
import { devices, type PendingDevice } from "@svc/sdk/devices";
import { nodes, type PendingNode } from "@svc/sdk/nodes";
import { chosenDevice, chosenRequest, chosenRole } from "./cli-choice.ts";
import { join, leave } from "./cli-join.ts";
import { approvedLines, listLines, overviewLines } from "./cli-lines.ts";
import { gatewayUrl, joinSeconds, JOIN_SECONDS, scopesOption, textOption } from "./cli-options.ts";
import { cell, listed } from "./cli-text.ts";

const PAIRING = "operator.pairing";

export default defineCommands([
  {
    name: "devices list",
    summary: "List devices that wait for approval, and paired devices",
    examples: ["svc devices list", "svc devices list --json"],
    async run(context) {
      show(context, await list(context), listLines);
    },
  },
  {
    name: "devices approve",
    summary: "Approve a waiting device",
    args: "[requestId]",
    options: [{ flags: "--latest", description: "approve the newest request" }],
    examples: ["svc devices approve", "svc devices approve <requestId>", "svc devices approve --latest"],
    async run(context) {
      const { pending } = await list(context);
      const request = chosenRequest(pending, context.args[0], context.options["latest"] === true);
      // The approver needs the granted scopes, so the connection requests exactly these.
      const scopes = [PAIRING, ...(request.scopes ?? [])];
      const { requestId } = request;
      show(
        context,
        await withGateway(context, scopes, (client) => client.call(devices.approve, { requestId })),
        approvedLines,
      );
    },
  },
  {
    name: "devices reject",
    summary: "Reject a waiting device",
    args: "<requestId>",
    examples: ["svc devices reject <requestId>"],
    async run(context) {
      const [requestId = ""] = context.args;
      const answer = await withGateway(context, [PAIRING], (client) => client.call(devices.reject, { requestId }));
      show(context, answer, ({ deviceId }) => [
        `rejected the request of device ${visible(deviceId)}; its earlier approvals stay`,
      ]);
    },
  },
  {
    name: "devices remove",
    summary: "Remove a device and close its connections",
    args: "<deviceId>",
    examples: ["svc devices remove <deviceId>", "svc devices remove 3fa9c1"],
    async run(context) {
      const { deviceId, displayName } = chosenDevice((await list(context)).paired, context.args[0] ?? "");
      const answer = await withGateway(context, [PAIRING], (client) => client.call(devices.remove, { deviceId }));
      show(context, answer, () => [
        `removed ${cell(displayName)}, device ${visible(deviceId)}; its connections are closed`,
      ]);
    },
  },
  {
    name: "devices rotate",
    summary: "Issue a new token for a role of a device",
    args: "<deviceId> [role]",
    options: [
      {
        flags: "--scopes <list>",
        description: "scopes of the new token, comma-separated; default: those of the old token",
      },
    ],
    examples: ["svc devices rotate <deviceId>", "svc devices rotate 3fa9c1 operator --scopes operator.read"],
    async run(context) {
      const device = chosenDevice((await list(context)).paired, context.args[0] ?? "");
      const role = chosenRole(device, context.args[1]);
      const asked = scopesOption(context);
      const scopes = asked ?? device.tokens?.find((token) => token.role === role)?.scopes ?? device.scopes ?? [];
      const params = { deviceId: device.deviceId, role, ...(asked === undefined ? {} : { scopes: asked }) };
      const answer = await withGateway(context, [...new Set([PAIRING, ...scopes])], (client) =>
        client.call(devices.rotate, params),
      );
      show(context, answer, ({ token }) => [
        `the new token for role ${visible(role)} of device ${visible(device.deviceId)}, shown only once:`,
        token,
        `scopes: ${listed(answer.scopes)}; the old token no longer works`,
      ]);
    },
  },
  {
    name: "devices revoke",
    summary: "Revoke the token of a role of a device",
    args: "<deviceId> [role]",
    examples: ["svc devices revoke <deviceId>", "svc devices revoke 3fa9c1 node"],
    async run(context) {
      const device = chosenDevice((await list(context)).paired, context.args[0] ?? "");
      const params = { deviceId: device.deviceId, role: chosenRole(device, context.args[1]) };
      const answer = await withGateway(context, [PAIRING], (client) => client.call(devices.revoke, params));
      show(context, answer, ({ deviceId, role }) => [
        `revoked the token for role ${visible(role)} of device ${visible(deviceId)}; the device gets a new one when it connects with the gateway's secret`,
        `to keep the device out: svc devices remove ${visible(deviceId)}`,
      ]);
    },
  },
  {
    name: "pairing",
    summary: "Show pending approvals, and how this machine is paired",
    examples: ["svc pairing", "svc pairing --json"],
    async run(context) {
      const { pending, nodes } = await waitingHere(context);
      const deviceId = readDevice(identityDirectory(context))?.id;
      const overview = { pending, nodes, ...(deviceId === undefined ? {} : { deviceId }) };
      show(context, overview, () => overviewLines(overview));
    },
  },
  {
    name: "pairing join",
    summary: "Pair this machine with a gateway",
    options: [
      { flags: "--name <name>", description: "name of this machine, shown to the people who approve it" },
      { flags: "--scopes <list>", description: "scopes to request, comma-separated; default: all" },
      {
        flags: "--timeout <seconds>",
        description: `seconds to wait for an approval; default ${JOIN_SECONDS}; 0: do not wait`,
      },
    ],
    examples: ["svc pairing join --url wss://gateway.example --token <token> --name desk"],
    async run(context) {
      const scopes = scopesOption(context);
      const url = gatewayUrl(context);
      const name = textOption(context, "name");
      const { token, password, tlsFingerprint } = await context.target();
      const joined = await join({
        url,
        ...(tlsFingerprint === undefined ? {} : { tlsFingerprint }),
        ...(token === undefined ? {} : { token }),
        ...(password === undefined ? {} : { password }),
        ...(name === undefined ? {} : { name }),
        ...(scopes === undefined ? {} : { scopes }),
        timeoutMs: joinSeconds(context) * 1_000,
        directory: identityDirectory(context),
        connect,
        note: (line) => context.note(visible(line)),
        wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        elapsed: () => performance.now(),
      });
      show(context, joined, ({ deviceId }) => [
        `this machine is now device ${deviceId} of ${visible(url)}, with scopes ${listed(joined.scopes)}`,
        `commands no longer need a secret there: svc gateway health --url ${visible(url)}`,
      ]);
    },
  },
  {
    name: "pairing leave",
    summary: "Delete this machine's token for a gateway",
    examples: ["svc pairing leave --url wss://gateway.example"],
    async run(context) {
      const url = gatewayUrl(context);
      const directory = identityDirectory(context);
      const left = leave(directory, url);
      const deviceId = readDevice(directory)?.id;
      show(context, { url, left, ...(deviceId === undefined ? {} : { deviceId }) }, () => [
        visible(left ? `deleted the token of ${url}` : `no token of ${url} is stored; nothing changed`),
        ...(left && deviceId !== undefined ? [`on the gateway's machine: svc devices remove ${deviceId}`] : []),
      ]);
    },
  },
]);

function list(context: CommandContext) {
  return withGateway(context, [PAIRING], (client) => client.call(devices.list, {}));
}

/** Devices that wait for an approval, and nodes of the older pairing store when a plugin serves it. */
function waitingHere(context: CommandContext): Promise<{ pending: PendingDevice[]; nodes: PendingNode[] }> {
  return withGateway(context, [PAIRING], async (client) => {
    const { pending } = await client.call(devices.list, {});
    if (!client.hello.features.methods.includes(nodes.pairList.name)) return { pending, nodes: [] };
    const known = new Set(pending.map(({ requestId }) => requestId));
    const older = await client.call(nodes.pairList, {});
    return { pending, nodes: older.pending.filter(({ requestId }) => !known.has(requestId)) };
  });
}

/** Directory of this machine's device key and of the tokens that gateways issued to it. Spec: protocol/stores.md §5. */
function identityDirectory({ stateDir }: CommandContext): string {
  return joinPath(stateDir, "identity");
}
