/** What a repeated request becomes, and what an approval makes of a record. Pure. Spec: protocol/methods-device.md. */
import { isDeepStrictEqual } from "node:util";
import type { Claim } from "./claim.ts";
import type { DeviceRecord, PendingRecord, Reason, TokenRecord } from "./records.ts";
import { missingScopes, union } from "./scopes.ts";

/** One more wish of a device, beside the one that waits. */
export interface Wish {
  readonly claim: Claim;
  readonly reason: Reason;
  /** There is a record of this device. */
  readonly isRepair: boolean;
}

/** The request as it is shown from now on; the one that waits when nothing about it is different. */
export function mergedRequest(waiting: PendingRecord | undefined, wish: Wish, newId: () => string): PendingRecord {
  const { deviceId, role, scopes, facts } = wish.claim;
  const commands = wish.claim.commands ?? waiting?.commands;
  const { remoteIp, ...shown } = facts;
  const merged = {
    deviceId,
    ...shown,
    role: waiting?.role ?? role,
    roles: union(waiting?.roles, [role]),
    scopes: union(waiting?.scopes, scopes),
    ...(commands === undefined ? {} : { commands }),
    isRepair: wish.isRepair,
  };
  if (waiting && showsTheSame(waiting, merged)) return waiting;
  const from = remoteIp === undefined ? {} : { remoteIp };
  return { ...merged, ...from, reason: wish.reason, requestId: newId(), ts: 0 };
}

/** Choice: neither the address nor the reason counts: a device that moves asks for the same. */
function showsTheSame(waiting: PendingRecord, merged: object): boolean {
  const { requestId: _id, ts: _ts, remoteIp: _ip, reason: _reason, ...shown } = waiting;
  return isDeepStrictEqual(shown, merged);
}

/** The record once `request` is approved. @param now epoch ms */
export function approvedRecord(record: DeviceRecord | undefined, request: PendingRecord, now: number): DeviceRecord {
  const { requestId: _id, ts: _ts, isRepair: _repair, reason: _reason, ...asked } = request;
  // Another key is another device: nothing that was approved for the old key goes over to it.
  const kept = record?.publicKey === request.publicKey ? record : undefined;
  const commands = union(kept?.commands, request.commands);
  return {
    ...asked,
    ...(record?.givenName === undefined ? {} : { givenName: record.givenName }),
    roles: union(kept?.roles, request.roles),
    scopes: union(kept?.scopes, request.scopes),
    approvedScopes: union(kept?.approvedScopes, request.scopes),
    ...(commands.length > 0 ? { commands } : {}),
    createdAtMs: record?.createdAtMs ?? now,
    approvedAtMs: now,
  };
}

/**
 * Scopes of the token an approval makes, or `undefined` when the one there is stays.
 * Choice: it stays when it covers what was asked for, as after new metadata or commands: a device that has nothing but
 * its token would be locked out by its own approval.
 */
export function approvedTokenScopes(
  token: TokenRecord | undefined,
  record: DeviceRecord | undefined,
  request: PendingRecord,
): readonly string[] | undefined {
  const sameKey = record?.publicKey === request.publicKey;
  const live = sameKey && token !== undefined && token.revokedAtMs === undefined ? token : undefined;
  if (request.role === "node") return live ? undefined : [];
  if (live && missingScopes(live.scopes, request.scopes).length === 0) return undefined;
  if (request.scopes.length > 0) return request.scopes;
  return (sameKey ? (token?.scopes ?? record.approvedScopes) : undefined) ?? [];
}

/** The record after a connect that passed; `undefined` when it says what it said. What was pinned stays. */
export function seenRecord(record: DeviceRecord, { role, scopes, facts }: Claim): DeviceRecord | undefined {
  const { displayName, clientId, clientMode, remoteIp } = facts;
  const seen: DeviceRecord = {
    ...record,
    ...(displayName === undefined ? {} : { displayName }),
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientMode === undefined ? {} : { clientMode }),
    ...(remoteIp === undefined ? {} : { remoteIp }),
    role,
    scopes: union(record.scopes, scopes),
  };
  return isDeepStrictEqual(seen, record) ? undefined : seen;
}
