/** What is known of devices: what they claim, what was approved, which tokens they have. Pure. Spec: protocol/stores.md §5. */
import type { PairingRequest } from "@svc/sdk";
import type { PairedDevice, PendingDevice } from "@svc/sdk/devices";

/** Why a request was made. */
export type Reason = PairingRequest["reason"] | "command-upgrade";

/** What a device says of itself. */
export interface DeviceFacts {
  /** Base64url of 32 bytes, whatever spelling it came in. */
  readonly publicKey: string;
  readonly displayName?: string;
  readonly platform?: string;
  readonly deviceFamily?: string;
  readonly clientId?: string;
  readonly clientMode?: string;
  readonly remoteIp?: string;
  readonly caps?: readonly string[];
}

/** A device that was approved. */
export interface DeviceRecord extends DeviceFacts {
  readonly deviceId: string;
  /** A name an operator gave it; it stands before its own. */
  readonly givenName?: string;
  /** Role of its last connection, or of its last approval. */
  readonly role: string;
  readonly roles: readonly string[];
  /** What it has asked for and may have. Never more than `approvedScopes` cover. */
  readonly scopes: readonly string[];
  /** What people approved, all in all: grows by approvals only. */
  readonly approvedScopes: readonly string[];
  /** Nodes: what it may offer. */
  readonly commands?: readonly string[];
  readonly createdAtMs: number;
  readonly approvedAtMs: number;
}

/** A record as it was read; `revision` grows with each write. */
export interface StoredDevice {
  readonly record: DeviceRecord;
  readonly revision: number;
}

/** A token of one role. The value is nowhere: it is derived from `salt`. */
export interface TokenRecord {
  readonly deviceId: string;
  readonly role: string;
  readonly salt: string;
  readonly scopes: readonly string[];
  readonly createdAtMs: number;
  readonly rotatedAtMs?: number;
  readonly revokedAtMs?: number;
  readonly lastUsedAtMs?: number;
}

/** A device that waits. What it shows never changes under one `requestId`. */
export interface PendingRecord extends DeviceFacts {
  readonly requestId: string;
  readonly deviceId: string;
  readonly role: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly commands?: readonly string[];
  readonly isRepair: boolean;
  readonly reason: Reason;
  /** epoch ms of the last connect that asked for this */
  readonly ts: number;
}

/** As people see it: never a token value, never a salt. */
export function pairedView(record: DeviceRecord, tokens: readonly TokenRecord[]): PairedDevice {
  const { givenName, approvedScopes: _hidden, caps: _caps, commands, ...shown } = record;
  const name = givenName ?? record.displayName;
  return {
    ...shown,
    ...(name === undefined ? {} : { displayName: name }),
    roles: [...record.roles],
    scopes: [...record.scopes],
    ...(commands === undefined ? {} : { commands: [...commands] }),
    tokens: tokens
      .filter(({ deviceId }) => deviceId === record.deviceId)
      .map(({ deviceId: _id, salt: _salt, ...token }) => ({ ...token, scopes: [...token.scopes] }))
      .sort((left, right) => (left.role < right.role ? -1 : 1)),
  };
}

export function pendingView(record: PendingRecord): PendingDevice {
  const { caps, commands, ...shown } = record;
  return {
    ...shown,
    roles: [...record.roles],
    scopes: [...record.scopes],
    ...(caps === undefined ? {} : { caps: [...caps] }),
    ...(commands === undefined ? {} : { commands: [...commands] }),
    silent: false,
  };
}
