/** Approves a pending pairing request, by a person or silently, or rejects it. Spec: protocol/methods-device.md. */
import type { Logger, Principal } from "@svc/sdk";
import type { PairedDevice } from "@svc/sdk/devices";
import { refusal } from "@svc/sdk/errors";
import type { Credentials } from "@svc/sdk/gateway";
import type { Statement, Storage } from "@svc/sdk/storage";
import { untilUnchanged } from "./changes.ts";
import { type DeviceStore, removeTokens, writeDevice, writeToken } from "./device-store.ts";
import { approvedRecord, approvedTokenScopes } from "./merge.ts";
import { missing } from "./missing.ts";
import { type PendingStore, takePending } from "./pending-store.ts";
import { pairedView, type PendingRecord, type StoredDevice, type TokenRecord } from "./records.ts";
import { knownScopes, missingScopes } from "./scopes.ts";
import { newSalt } from "./token-value.ts";

/** Close reason of sockets whose token was replaced or revoked. Clients delete their stored token when they read it. */
export const TOKEN_ENDED = "unauthorized: device token mismatch";

export interface ApprovalOptions {
  readonly storage: Storage;
  readonly store: DeviceStore;
  readonly waiting: PendingStore;
  readonly credentials: Credentials;
  readonly log: Logger;
  now(): number;
  resolved(request: PendingRecord, decision: "approved" | "rejected"): void;
}

/** Principal id that `authenticate` returns for a role of a device. */
export function principalId(deviceId: string, role: string): string {
  return `device:${deviceId}:${role}`;
}

export class Approvals {
  readonly #options: ApprovalOptions;

  constructor(options: ApprovalOptions) {
    this.#options = options;
  }

  /** @throws GatewayError `NOT_FOUND`; `INVALID_REQUEST` with `MISSING_SCOPE`: the request needs a scope that the approver lacks */
  async approve(requestId: string, approver: Principal): Promise<{ requestId: string; device: PairedDevice }> {
    const { waiting, now } = this.#options;
    const device = await untilUnchanged(async () => {
      const request = (await waiting.get(requestId, now())) ?? (await missing.request(waiting, requestId, now()));
      const [lacking] = missingScopes(approver.scopes, knownScopes(request.scopes));
      if (lacking !== undefined)
        throw refusal("MISSING_SCOPE", `missing scope: ${lacking}`, { scope: lacking, requestId });
      return this.#grant(request, approver.id, [takePending(requestId, now())]);
    });
    return { requestId, device };
  }

  /** Approves a request that is not stored and was never shown. `CONFLICT` when the device changed meanwhile. */
  grantSilently(request: PendingRecord, by: string): Promise<PairedDevice> {
    return this.#grant(request, by, []);
  }

  /**
   * As `grantSilently`, for a connection with an invitation. A token that is replaced admits no further connection; open ones stay, since
   * ending them would end the connection that is being accepted, too.
   * @param isPending a request of the device with this id is stored, which this settles
   */
  grantInvited(request: PendingRecord, by: string, isPending: boolean): Promise<PairedDevice> {
    const first = isPending ? [takePending(request.requestId, this.#options.now())] : [];
    return this.#grant(request, by, first, true);
  }

  /** @throws GatewayError `NOT_FOUND` */
  async reject(requestId: string): Promise<{ requestId: string; deviceId: string }> {
    const { waiting, storage, now, resolved, log } = this.#options;
    const request = await untilUnchanged(async () => {
      const found = (await waiting.get(requestId, now())) ?? (await missing.request(waiting, requestId, now()));
      await storage.transaction([takePending(requestId, now())]);
      return found;
    });
    const { deviceId } = request;
    log.info({ requestId, deviceId }, "a pairing request was rejected");
    resolved(request, "rejected");
    return { requestId, deviceId };
  }

  /** One transaction: removes the request, writes the record, and issues a token for its role if needed. */
  async #grant(
    request: PendingRecord,
    by: string,
    first: readonly Statement[],
    keepsConnections = false,
  ): Promise<PairedDevice> {
    const { store, storage, now } = this.#options;
    const { deviceId, role } = request;
    const before = await store.get(deviceId);
    const token = await store.token(deviceId, role);
    const isOtherKey = before !== undefined && before.record.publicKey !== request.publicKey;
    const record = approvedRecord(before?.record, request, now());
    const scopes = approvedTokenScopes(token, before?.record, request);
    const made = scopes && freshToken(deviceId, role, scopes, isOtherKey ? undefined : token, now());
    await storage.transaction([
      ...first,
      writeDevice(record, before),
      ...(isOtherKey ? [removeTokens(deviceId)] : []),
      ...(made ? [writeToken(made, isOtherKey ? undefined : token)] : []),
    ]);
    await this.#end(before, isOtherKey, keepsConnections ? undefined : made && token);
    this.#report(request, by, made !== undefined);
    return pairedView(record, await store.tokens(deviceId));
  }

  /** Closes connections that relied on the previous token, or on another key. */
  async #end(before: StoredDevice | undefined, isOtherKey: boolean, replaced: TokenRecord | undefined): Promise<void> {
    const { credentials } = this.#options;
    if (before && isOtherKey) await credentials.revokeDevice(before.record.deviceId, TOKEN_ENDED);
    else if (replaced) await credentials.revoke(principalId(replaced.deviceId, replaced.role), TOKEN_ENDED);
  }

  #report(request: PendingRecord, by: string, hasNewToken: boolean): void {
    const { requestId, deviceId, roles, scopes, commands, reason } = request;
    const what = { requestId, deviceId, roles, scopes, commands, reason, by, hasNewToken };
    this.#options.log.info(what, "a device was approved");
    this.#options.resolved(request, "approved");
  }
}

/** A new token that replaces `before`; without `before` it has no `rotatedAtMs`. */
export function freshToken(
  deviceId: string,
  role: string,
  scopes: readonly string[],
  before: TokenRecord | undefined,
  now: number,
): TokenRecord {
  const sorted = [...new Set(scopes)].sort();
  const made = { deviceId, role, salt: newSalt(), scopes: sorted };
  return before ? { ...made, createdAtMs: before.createdAtMs, rotatedAtMs: now } : { ...made, createdAtMs: now };
}
