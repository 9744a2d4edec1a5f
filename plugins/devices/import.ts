/** Takes devices of another gateway with digests of their tokens, and gives devices with their tokens. */
import { createHash } from "node:crypto";
import { unavailable } from "@svc/sdk";
import type { DeviceRecord as GivenDevice, GivenRecords, ImportOutcome } from "@svc/sdk/import";
import type { Storage } from "@svc/sdk/storage";
import { freshToken } from "./approval.ts";
import { untilUnchanged } from "./changes.ts";
import { checkedTexts, listed } from "./claim.ts";
import { type DeviceStore, writeDevice, writeToken } from "./device-store.ts";
import type { DeviceRecord, TokenRecord } from "./records.ts";
import { knownScopes, missingScopes, resolved, ROLES, union } from "./scopes.ts";
import { adoptedDigest, tokenValue } from "./token-value.ts";

/** Devices of one page of an export. */
const PAGE = 100;
/** Choice: visible ASCII. A shorter value could be guessed. */
const TOKEN = /^[!-~]{16,512}$/;
const PAIR_AGAIN =
  "connect the device with the token or password of this gateway; if it waits then: svc devices approve --latest";

interface ImportSources {
  readonly storage: Storage;
  readonly store: DeviceStore;
  now(): number;
  /** Absent until this plugin has started. */
  key(): Uint8Array | undefined;
}

/**
 * Pairs a device as it was approved elsewhere. A device that is paired here is not changed.
 * @throws GatewayError `INVALID_REQUEST` naming a text or list that is too long; `UNAVAILABLE`
 */
export async function takeDevice(sources: ImportSources, given: GivenDevice): Promise<Omit<ImportOutcome, "id">> {
  const { storage, store } = sources;
  const key = startedKey(sources);
  const publicKey = Buffer.from(given.publicKey.trim(), "base64");
  if (publicKey.length !== 32 || createHash("sha256").update(publicKey).digest("hex") !== given.id)
    return { action: "refuse", reason: "its id is not the SHA-256 of its public key", next: PAIR_AGAIN };
  const known = ROLES.filter((role) => given.roles.includes(role));
  const [role] = known;
  if (!role) return { action: "refuse", reason: `it has none of the roles ${ROLES.join(" and ")}`, next: PAIR_AGAIN };
  const device: DeviceRecord = {
    deviceId: given.id,
    publicKey: publicKey.toString("base64url"),
    ...factsOf(given),
    role,
    roles: union(known),
    ...scopesOf(given),
    ...(known.includes("node") ? commandsOf(given) : {}),
    createdAtMs: given.createdAt,
    approvedAtMs: given.approvedAt,
  };
  const { tokens, losses } = adoptedTokens(given, device, key, sources.now());
  return untilUnchanged(async () => {
    if (await store.get(given.id)) return { action: "skip", reason: "the device is paired here" };
    await storage.transaction([writeDevice(device, undefined), ...tokens.map((one) => writeToken(one, undefined))]);
    if (losses.length === 0) return { action: "take" };
    return { action: "convert", reason: losses.join("; "), next: PAIR_AGAIN };
  });
}

function factsOf({ displayName, platform, deviceFamily, clientId, clientMode, node }: GivenDevice) {
  const caps = listed("caps", node?.caps ?? []);
  const texts = checkedTexts({ displayName, platform, deviceFamily, clientId, clientMode });
  return { ...texts, ...(caps.length > 0 ? { caps } : {}) };
}

function scopesOf({ approvedScopes }: GivenDevice) {
  const scopes = union(knownScopes(approvedScopes));
  return { scopes, approvedScopes: scopes };
}

function commandsOf({ node }: GivenDevice): Pick<DeviceRecord, "commands" | "importedCommands"> {
  return node ? { commands: listed("commands", node.commands) } : { importedCommands: "awaited" };
}

/** New tokens that stand for the given ones, and for people what the device loses. */
function adoptedTokens(given: GivenDevice, { roles, approvedScopes }: DeviceRecord, key: Uint8Array, now: number) {
  const tokens: TokenRecord[] = [];
  const losses = new Set<string>();
  for (const { role, scopes, value } of given.tokens.toSorted((one, other) => other.createdAt - one.createdAt)) {
    if (tokens.some((token) => token.role === role)) continue; // a newer one of this role was taken
    if (!roles.includes(role)) losses.add("a token of a role that was not approved is not taken");
    else if (!TOKEN.test(value)) losses.add(`its ${role} token is malformed, and not taken`);
    else if (role === "operator" && !given.approvedScopes)
      losses.add("its operator token is not taken, since it is unknown which scopes were approved");
    else {
      const held = role === "node" ? [] : scopes;
      const kept = knownScopes(held).filter((scope) => missingScopes(approvedScopes, [scope]).length === 0);
      if (kept.length < resolved(held).length)
        losses.add("its operator token loses scopes that were not approved, or that this gateway does not know");
      tokens.push({ ...freshToken(given.id, role, kept, undefined, now), adopted: adoptedDigest(key, value) });
    }
  }
  return { tokens, losses: [...losses] };
}

/** Stored devices. */
export async function countDevices(storage: Storage): Promise<number> {
  const row = await storage.get<{ n: number | bigint }>("SELECT count(*) AS n FROM devices_paired");
  return Number(row?.n ?? 0);
}

/**
 * Devices by id, each with the current values of its tokens, so the result is a list of credentials: whoever has it and
 * the key of a device can connect as that device. Revoked tokens are left out. The value that an imported device still
 * sends is not known here; the device gets the given one when it connects.
 * @param after id of the last device of the page before
 * @throws GatewayError `UNAVAILABLE`
 */
export async function giveDevices(sources: ImportSources, after = ""): Promise<GivenRecords<GivenDevice>> {
  const { store } = sources;
  const key = startedKey(sources);
  const found = await store.page(after, PAGE + 1);
  const page = found.slice(0, PAGE);
  const records = await Promise.all(page.map(async (one) => givenOf(one, await store.tokens(one.deviceId), key)));
  const last = page.at(-1);
  return { records, ...(last && found.length > PAGE ? { next: last.deviceId } : {}) };
}

function givenOf(device: DeviceRecord, tokens: readonly TokenRecord[], key: Uint8Array): GivenDevice {
  const { deviceId, givenName, importedCommands, commands = [], caps = [], createdAtMs, approvedAtMs } = device;
  const { displayName, publicKey, platform, deviceFamily, clientId, clientMode } = device;
  const live = tokens.filter(({ revokedAtMs }) => revokedAtMs === undefined);
  const name = givenName ?? displayName;
  const isPinned = device.roles.includes("node") && importedCommands !== "awaited";
  return {
    id: deviceId,
    publicKey,
    ...checkedTexts({ displayName: name, platform, deviceFamily, clientId, clientMode }),
    roles: [...device.roles],
    approvedScopes: [...device.approvedScopes],
    tokens: live.map((token) => ({
      role: token.role,
      scopes: [...token.scopes],
      value: tokenValue(key, token),
      createdAt: token.rotatedAtMs ?? token.createdAtMs,
      ...(token.adopted === undefined ? {} : { former: true }),
    })),
    createdAt: createdAtMs,
    approvedAt: approvedAtMs,
    ...(isPinned ? { node: { commands: [...commands], caps: [...caps] } } : {}),
  };
}

function startedKey({ key }: ImportSources): Uint8Array {
  return key() ?? unavailable("the plugin devices is starting; try again", { retryAfterMs: 500 });
}
