/** Security checks of paired devices; they query the running gateway. */
import { commandText, defineSecurityChecks, type SecurityHit } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { devices, type PairedDevice } from "@svc/sdk/devices";

const DAY_MS = 86_400_000;
/** Choice: these three thresholds. */
const UNSEEN_DAYS = 90;
const TOKEN_DAYS = 180;
const MOST_ADMINS = 3;

type Token = NonNullable<PairedDevice["tokens"]>[number];

export default defineSecurityChecks([
  {
    id: "devices.unseen",
    severity: "warning",
    why: "Nobody notices the loss of a device that is not used.",
    ask: async (client, { now }) => unseen(await paired(client), now),
  },
  {
    id: "devices.old-token",
    severity: "warning",
    why: "A copied token works until it is replaced.",
    ask: async (client, { now }) => oldTokens(await paired(client), now),
  },
  {
    id: "devices.many-admins",
    severity: "info",
    why: "Each admin device can change everything; losing one means losing the gateway.",
    ask: async (client) => manyAdmins(await paired(client)),
  },
]);

async function paired(client: GatewayClient): Promise<readonly PairedDevice[]> {
  return (await client.call(devices.list, {})).paired;
}

/** @param now epoch ms */
export function unseen(list: readonly PairedDevice[], now: number): readonly SecurityHit[] {
  return list.flatMap(({ deviceId, displayName, approvedAtMs, tokens = [] }) => {
    const seen = Math.max(approvedAtMs, ...tokens.map(({ lastUsedAtMs = 0 }) => lastUsedAtMs));
    const days = Math.floor((now - seen) / DAY_MS);
    if (days < UNSEEN_DAYS) return [];
    const fix = commandText(["svc", "devices", "remove", deviceId]);
    return [{ about: named(deviceId, displayName), message: `The device was last seen ${days} days ago.`, fix }];
  });
}

/** @param now epoch ms */
export function oldTokens(list: readonly PairedDevice[], now: number): readonly SecurityHit[] {
  return list.flatMap(({ deviceId, displayName, tokens = [] }) =>
    tokens.filter(isOperators).flatMap(({ createdAtMs, rotatedAtMs = createdAtMs }) => {
      const days = Math.floor((now - rotatedAtMs) / DAY_MS);
      if (days < TOKEN_DAYS) return [];
      const fix = commandText(["svc", "devices", "rotate", deviceId, "operator"]);
      return [{ about: named(deviceId, displayName), message: `Its operator token is ${days} days old.`, fix }];
    }),
  );
}

export function manyAdmins(list: readonly PairedDevice[]): readonly SecurityHit[] {
  const admins = list.filter(({ tokens = [] }) =>
    tokens.some((token) => isOperators(token) && token.scopes.includes("operator.admin")),
  );
  const lastUsed = ({ tokens = [] }: PairedDevice) =>
    Math.max(0, ...tokens.map(({ lastUsedAtMs = 0 }) => lastUsedAtMs));
  const [least] = admins.toSorted((one, other) => lastUsed(one) - lastUsed(other));
  if (admins.length <= MOST_ADMINS || !least) return [];
  const fix = ["svc", "devices", "rotate", least.deviceId, "operator", "--scopes", "operator.read,operator.write"];
  const message = `${admins.length} devices are admins; ${named(least.deviceId, least.displayName)} was used least recently.`;
  return [{ about: "devices", message, fix: commandText(fix) }];
}

function isOperators({ role, revokedAtMs }: Token): boolean {
  return role === "operator" && revokedAtMs === undefined;
}

function named(deviceId: string, displayName: string | undefined): string {
  return displayName === undefined ? deviceId.slice(0, 12) : `${displayName.slice(0, 60)} (${deviceId.slice(0, 12)})`;
}
