/** Admits paired devices, and creates a pairing request for every other one. Spec: protocol/frames-and-connect.md §10. */
import { randomUUID } from "node:crypto";
import {
  type Admission,
  type Denial,
  GatewayError,
  isGatewayError,
  type Logger,
  type Turns,
  unavailable,
} from "@svc/sdk";
import type { OfferedCommands } from "@svc/sdk/devices";
import type { DetailCode } from "@svc/sdk/errors";
import type { Storage } from "@svc/sdk/storage";
import type { Approvals } from "./approval.ts";
import { untilUnchanged } from "./changes.ts";
import { type Claim, claimOf } from "./claim.ts";
import { type DeviceStore, writeDevice } from "./device-store.ts";
import type { Invitations } from "./invitations.ts";
import { mayBeSilent, needsNoPairing, obstacle } from "./judge.ts";
import { mergedRequest, seenRecord, type Wish } from "./merge.ts";
import { addPending, type PendingStore, refreshPending } from "./pending-store.ts";
import type { DeviceRecord, PendingRecord, StoredDevice } from "./records.ts";

export interface GateOptions {
  readonly storage: Storage;
  readonly store: DeviceStore;
  readonly waiting: PendingStore;
  readonly approvals: Approvals;
  readonly invitations: Invitations;
  readonly turns: Turns;
  readonly log: Logger;
  now(): number;
  /** Whether local devices may be approved without asking people. */
  isSilent(): boolean;
  requested(request: PendingRecord): void;
}

export class Gate {
  readonly #options: GateOptions;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** @returns the denial; `undefined`: admitted. @throws errors of the storage, which deny as well */
  async admit(admission: Admission): Promise<Denial | undefined> {
    if (admission.device === undefined || needsNoPairing(admission)) return undefined;
    const claim = readClaim(admission);
    if ("allow" in claim) return claim;
    const known = await this.#options.store.get(claim.deviceId);
    if (known && obstacle(known.record, claim) === undefined) {
      await this.#noteSeen(known, claim);
      return undefined;
    }
    return this.#options.turns.take(claim.deviceId, () => untilUnchanged(() => this.#pair(admission, claim)));
  }

  /**
   * The approved commands of an admitted node; a request is created for the others.
   * @param denied see `Devices.offer`
   */
  async offer(admission: Admission, denied: readonly string[] = []): Promise<OfferedCommands> {
    const claim = claimOf(admission);
    if (!claim?.commands) return { commands: [], withheld: [] };
    const { turns } = this.#options;
    return turns.take(claim.deviceId, () => untilUnchanged(() => this.#offer(admission, claim, denied)));
  }

  /** Runs within the device's turn: only approvals can change the data meanwhile, and those cause a conflict. */
  async #pair(admission: Admission, claim: Claim): Promise<Denial | undefined> {
    const known = await this.#options.store.get(claim.deviceId);
    const reason = obstacle(known?.record, claim);
    if (reason === undefined) return undefined; // another connection of the device was approved meanwhile
    const request = await this.#ask(admission, { claim, reason, isRepair: known !== undefined }, known);
    if (request === undefined) return undefined;
    return {
      allow: false,
      code: "NOT_PAIRED",
      reason: "pairing required", // clients match this text
      details: {
        code: "PAIRING_REQUIRED" satisfies DetailCode,
        requestId: request.requestId,
        reason,
        nextStep: `svc devices approve ${request.requestId}`,
      },
    };
  }

  /** @returns the pending request; `undefined`: approved silently, or by an invitation */
  async #ask(admission: Admission, wish: Wish, known: StoredDevice | undefined): Promise<PendingRecord | undefined> {
    const { waiting, approvals, storage, now, isSilent, requested } = this.#options;
    const before = await waiting.ofDevice(wish.claim.deviceId, now());
    const inviter = this.#options.invitations.inviterOf(admission.connect.device);
    if (inviter) {
      // Grants what this connection requests, not what the pending request shows; the id only tells clients that it is settled.
      const request = mergedRequest(undefined, wish, () => before?.requestId ?? randomUUID());
      await approvals.grantInvited({ ...request, ts: now() }, `invited by ${inviter.id}`, before !== undefined);
      return undefined;
    }
    // A request that people were asked about is decided by people: a pending request is never approved silently.
    if (!before && isSilent() && mayBeSilent(admission, wish.reason, known?.record)) {
      const request = mergedRequest(undefined, wish, randomUUID);
      await approvals.grantSilently({ ...request, ts: now() }, `silent: ${admission.principal.id}`);
      return undefined;
    }
    const merged = mergedRequest(before, wish, randomUUID);
    if (merged === before) {
      await storage.transaction([refreshPending(before.requestId, now())]);
      return before;
    }
    const request = { ...merged, ts: now() };
    await this.#store(request, before);
    this.#logRequest(request);
    requested(request);
    return request;
  }

  /** @throws GatewayError `UNAVAILABLE`: too many requests wait */
  async #store(request: PendingRecord, before: PendingRecord | undefined): Promise<void> {
    const { storage, waiting, now } = this.#options;
    try {
      await storage.transaction(addPending(request, before, request.ts)); // the event has the same time
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "CONFLICT") throw error;
      const other = await waiting.ofDevice(request.deviceId, now());
      if (other?.requestId !== before?.requestId) throw error; // decided or replaced meanwhile: retry
      unavailable("too many devices wait for an approval; try again later", { retryAfterMs: 60_000, cause: error });
    }
  }

  #logRequest({ requestId, deviceId, roles, scopes, reason, remoteIp }: PendingRecord): void {
    this.#options.log.info(
      { requestId, deviceId, roles, scopes, reason, remoteIp, next: `svc devices approve ${requestId}` },
      "a device waits for an approval",
    );
  }

  async #offer(admission: Admission, claim: Claim, denied: readonly string[]): Promise<OfferedCommands> {
    const known = await this.#pinned(await this.#options.store.get(claim.deviceId), claim, denied);
    const declared = claim.commands ?? [];
    const pinned = known?.record.commands ?? [];
    const withheld = declared.filter((command) => !pinned.includes(command));
    const commands = declared.filter((command) => pinned.includes(command));
    if (!known || withheld.length === 0) return { commands, withheld };
    try {
      await this.#ask(admission, { claim, reason: "command-upgrade", isRepair: true }, known);
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "UNAVAILABLE") throw error;
      // The node keeps its approved commands and requests the others at its next connect.
      this.#options.log.warn(
        { deviceId: claim.deviceId, err: error },
        "no approval could be requested for new commands of a node; retrying when it reconnects",
      );
    }
    return { commands, withheld };
  }

  /** The device; at the first connect of a node imported without approved commands, with those that it declares. */
  async #pinned(
    known: StoredDevice | undefined,
    { deviceId, commands: declared = [] }: Claim,
    denied: readonly string[],
  ): Promise<StoredDevice | undefined> {
    if (known?.record.importedCommands !== "awaited") return known;
    const commands = declared.filter((command) => !denied.includes(command));
    const record: DeviceRecord = { ...known.record, commands, importedCommands: "pinned" };
    await this.#options.storage.transaction([writeDevice(record, known)]);
    const message = "an imported node offers the commands that it declared; further commands need an approval";
    this.#options.log.info({ deviceId, commands }, message);
    return { record, revision: known.revision + 1 };
  }

  /** Stores the facts that the device reported. A failed write does not deny the connection. */
  async #noteSeen(known: StoredDevice, claim: Claim): Promise<void> {
    const seen = seenRecord(known.record, claim);
    if (!seen) return;
    try {
      await this.#options.storage.transaction([writeDevice(seen, known)]);
    } catch (error) {
      if (isGatewayError(error) && error.code === "CONFLICT") return; // a newer record was written
      this.#options.log.warn(
        { deviceId: claim.deviceId, err: error },
        "the name and client of a device were not stored; it is admitted",
      );
    }
  }
}

/** Turns an invalid claim into a denial with its reason; an error thrown by the gate would not show the reason. */
function readClaim(admission: Admission): Claim | Denial {
  try {
    const claim = claimOf(admission);
    if (claim) return claim;
    throw new GatewayError("INVALID_REQUEST", "the proof of the device is missing");
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return { allow: false, code: error.code, reason: error.message };
  }
}
