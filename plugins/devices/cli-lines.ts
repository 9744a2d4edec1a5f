/** Output of `svc devices ...` and `svc pairing`. Pure. */
import { table, time, visible } from "@svc/sdk/cli";
import type { PairedDevice, PendingDevice } from "@svc/sdk/devices";
import type { PendingNode } from "@svc/sdk/nodes";
import { cell, listed } from "./cli-text.ts";

/** Hex characters of a device id shown in a list; commands accept such a prefix if it is unique. */
const SHORT_ID = 12;

const REASONS: Readonly<Record<NonNullable<PendingDevice["reason"]>, string>> = {
  "not-paired": "new device",
  "metadata-upgrade": "reports another platform or device family than before",
  "role-upgrade": "requests another role",
  "scope-upgrade": "requests more scopes",
  "command-upgrade": "declares more commands",
};

export function listLines({ pending, paired }: { pending: readonly PendingDevice[]; paired: readonly PairedDevice[] }) {
  return [
    ...(pending.length === 0 ? ["no device waits for an approval"] : ["waiting:", ...pending.flatMap(requestLines)]),
    "",
    ...(paired.length === 0 ? ["no device is paired"] : ["paired:", ...pairedTable(paired)]),
  ];
}

/** One pending request, with the commands to decide it. */
export function requestLines(request: PendingDevice): string[] {
  const { requestId, deviceId, displayName, platform, roles, role, scopes, commands, remoteIp, reason, ts } = request;
  return [
    `  ${cell(displayName)} (${cell(platform)}, ${cell(remoteIp)}), device ${visible(deviceId.slice(0, SHORT_ID))}, asked at ${time(ts)}`,
    `    why       ${reason === undefined ? "-" : REASONS[reason]}`,
    `    asks for  role ${listed(roles ?? (role === undefined ? [] : [role]))}; scopes ${listed(scopes)}`,
    ...(commands && commands.length > 0 ? [`    commands  ${listed(commands)}`] : []),
    `    approve   svc devices approve ${visible(requestId)}`,
    `    reject    svc devices reject ${visible(requestId)}`,
  ];
}

/** Output of `svc pairing`. */
export function overviewLines({
  pending,
  nodes,
  deviceId,
}: {
  readonly pending: readonly PendingDevice[];
  readonly nodes: readonly PendingNode[];
  readonly deviceId?: string;
}): string[] {
  const waiting = [...pending.flatMap(requestLines), ...nodes.flatMap(nodeLines)];
  return [
    ...(waiting.length === 0 ? ["no device waits for an approval"] : ["waiting:", ...waiting]),
    "",
    deviceId === undefined
      ? "this machine has no device key yet; create one with: svc pairing join --url <ws url>"
      : `this machine is device ${visible(deviceId)}`,
  ];
}

/** A node of the older pairing store, which is not a device. */
function nodeLines({ requestId, nodeId, displayName, platform, remoteIp, commands, ts }: PendingNode): string[] {
  return [
    `  ${cell(displayName)} (${cell(platform)}, ${cell(remoteIp)}), node ${visible(nodeId.slice(0, SHORT_ID))}, asked at ${time(ts)}`,
    ...(commands && commands.length > 0 ? [`    commands  ${listed(commands)}`] : []),
    `    approve   svc nodes approve ${visible(requestId)}`,
    `    reject    svc gateway call node.pair.reject --params '{"requestId":"${visible(requestId)}"}'`,
  ];
}

function pairedTable(paired: readonly PairedDevice[]): string[] {
  const rows = paired.map(({ deviceId, displayName, platform, roles, scopes, tokens, approvedAtMs }) => [
    visible(deviceId.slice(0, SHORT_ID)),
    cell(displayName),
    cell(platform),
    listed(roles),
    listed(scopes),
    listed(tokens?.filter(({ revokedAtMs }) => revokedAtMs === undefined).map(({ role }) => role)),
    time(approvedAtMs),
  ]);
  return table([["device", "name", "platform", "roles", "scopes", "live tokens", "approved"], ...rows]).map(
    (line) => `  ${line}`,
  );
}

/** Everything that an approval granted. */
export function approvedLines({ device }: { readonly device: PairedDevice }): string[] {
  const { deviceId, displayName, roles, scopes, commands } = device;
  return [
    `approved ${cell(displayName)}, device ${visible(deviceId)}`,
    `  roles     ${listed(roles)}`,
    `  scopes    ${listed(scopes)}`,
    ...(commands && commands.length > 0 ? [`  commands  ${listed(commands)}`] : []),
    "the device gets its token when it reconnects",
  ];
}
