/** Records of devices: their claims, approvals and tokens. Pure. Spec: protocol/stores.md §5. */
import type { PairingRequest } from "@svc/sdk";
import type { PairedDevice, PendingDevice } from "@svc/sdk/devices";

/** Why a request was made. */
export type Reason = PairingRequest["reason"] | "command-upgrade";

/** Facts that a device reports about itself. */
export interface DeviceFacts {
  /** Base64url of 32 bytes, whatever encoding the client sent. */
  readonly publicKey: string;
  readonly displayName?: string;
  readonly platform?: string;
  readonly deviceFamily?: string;
  readonly clientId?: string;
  readonly clientMode?: string;
  readonly remoteIp?: string;
  readonly caps?: readonly string[];
}

/** An approved device. */
export interface DeviceRecord extends DeviceFacts {
  readonly deviceId: string;
  /** Name given by an operator; takes precedence over `displayName`. */
  readonly givenName?: string;
  /** Role of its last connection, or of its last approval. */
  readonly role: string;
  readonly roles: readonly string[];
  /** Scopes that were requested and granted; always covered by `approvedScopes`. */
  readonly scopes: readonly string[];
  /** All scopes ever approved; grows only by approvals. */
  readonly approvedScopes: readonly string[];
  /** Approved commands of a node. */
  readonly commands?: readonly string[];
  /**
   * Of a node that was imported without approved commands. `awaited`: its first connect pins the commands that it
   * declares; `pinned`: it did. An approval of commands removes the mark.
   */
  readonly importedCommands?: "awaited" | "pinned";
  readonly createdAtMs: number;
  readonly approvedAtMs: number;
}

/** A record from the storage; `revision` increases with each write. */
export interface StoredDevice {
  readonly record: DeviceRecord;
  readonly revision: number;
}

/** A token of one role. Its value is not stored: it is derived from `salt`. */
export interface TokenRecord {
  readonly deviceId: string;
  readonly role: string;
  readonly salt: string;
  readonly scopes: readonly string[];
  readonly createdAtMs: number;
  readonly rotatedAtMs?: number;
  readonly revokedAtMs?: number;
  readonly lastUsedAtMs?: number;
  /** Digest of the value that another gateway issued, imported at `createdAtMs`; until the device uses its new one. */
  readonly adopted?: string;
}

/** A pending request. Its content never changes under one `requestId`. */
export interface PendingRecord extends DeviceFacts {
  readonly requestId: string;
  readonly deviceId: string;
  readonly role: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly commands?: readonly string[];
  readonly isRepair: boolean;
  readonly reason: Reason;
  /** epoch ms of the last connect that made this request */
  readonly ts: number;
}

/** The public view: without token values, salts and digests. */
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
      .map(({ deviceId: _id, salt: _salt, adopted: _adopted, ...token }) => ({ ...token, scopes: [...token.scopes] }))
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
