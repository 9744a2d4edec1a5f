/** Merges repeated requests, and applies approvals to records. Pure. Spec: protocol/methods-device.md. */
import { isDeepStrictEqual } from "node:util";
import type { Claim } from "./claim.ts";
import type { DeviceRecord, PendingRecord, Reason, TokenRecord } from "./records.ts";
import { missingScopes, union } from "./scopes.ts";

/** A further request of a device, possibly in addition to a pending one. */
export interface Wish {
  readonly claim: Claim;
  readonly reason: Reason;
  /** Whether the device already has a record. */
  readonly isRepair: boolean;
}

/** The merged request with a new id; the pending one itself when nothing differs. */
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

/** Choice: address and reason are ignored, since a device that changes its address requests the same. */
function showsTheSame(waiting: PendingRecord, merged: object): boolean {
  const { requestId: _id, ts: _ts, remoteIp: _ip, reason: _reason, ...shown } = waiting;
  return isDeepStrictEqual(shown, merged);
}

/** The record after the approval of `request`. @param now epoch ms */
export function approvedRecord(record: DeviceRecord | undefined, request: PendingRecord, now: number): DeviceRecord {
  const { requestId: _id, ts: _ts, isRepair: _repair, reason: _reason, ...asked } = request;
  // A new key means a new device: approvals of the old key do not apply to it.
  const kept = record?.publicKey === request.publicKey ? record : undefined;
  const commands = union(kept?.commands, request.commands);
  const imported = request.commands === undefined ? kept?.importedCommands : undefined;
  return {
    ...asked,
    ...(record?.givenName === undefined ? {} : { givenName: record.givenName }),
    roles: union(kept?.roles, request.roles),
    scopes: union(kept?.scopes, request.scopes),
    approvedScopes: union(kept?.approvedScopes, request.scopes),
    ...(commands.length > 0 ? { commands } : {}),
    ...(imported === undefined ? {} : { importedCommands: imported }),
    createdAtMs: record?.createdAtMs ?? now,
    approvedAtMs: now,
  };
}

/**
 * Scopes of the token that an approval issues; `undefined` when the existing token stays.
 * Choice: it stays when it covers the request, e.g. after new metadata or commands: a device that has only its token
 * would otherwise be locked out by its own approval.
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

/** The record after an admitted connect; `undefined` when nothing changed. Pinned values stay. */
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
