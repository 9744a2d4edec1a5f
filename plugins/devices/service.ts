/** The service `Devices`, and the methods that change records. */
import { invalidRequest, isGatewayError, type Logger } from "@svc/sdk";
import type { Devices, PairedDevice, PendingDevice } from "@svc/sdk/devices";
import type { Credentials } from "@svc/sdk/gateway";
import type { Storage } from "@svc/sdk/storage";
import type { Approvals } from "./approval.ts";
import { untilUnchanged } from "./changes.ts";
import { type DeviceStore, removeDevice, writeDevice } from "./device-store.ts";
import type { Gate } from "./gate.ts";
import { missing } from "./missing.ts";
import type { PendingStore } from "./pending-store.ts";
import { pairedView, pendingView } from "./records.ts";

/** Close reason of the sockets of a removed device. */
const REMOVED = "unauthorized: this device was removed by an operator";
/** Choice: maximum UTF-16 units of a given name. */
const MAX_NAME = 256;

export interface DirectoryOptions {
  readonly storage: Storage;
  readonly store: DeviceStore;
  readonly waiting: PendingStore;
  readonly approvals: Approvals;
  readonly gate: Gate;
  readonly credentials: Credentials;
  readonly log: Logger;
  now(): number;
}

/** Paired devices and pending requests. */
export class Directory implements Devices {
  readonly #options: DirectoryOptions;
  readonly approve: Devices["approve"];
  readonly reject: Devices["reject"];
  readonly offer: Devices["offer"];

  constructor(options: DirectoryOptions) {
    this.#options = options;
    const { approvals, gate } = options;
    this.approve = (requestId, approver) => approvals.approve(requestId, approver);
    this.reject = (requestId) => approvals.reject(requestId);
    this.offer = (admission, denied) => gate.offer(admission, denied);
  }

  async get(deviceId: string): Promise<PairedDevice | undefined> {
    const { store } = this.#options;
    const device = await store.get(deviceId);
    return device && pairedView(device.record, await store.tokens(deviceId));
  }

  async list(): Promise<PairedDevice[]> {
    const { store } = this.#options;
    const [records, tokens] = await Promise.all([store.list(), store.tokens()]);
    return records.map((record) => pairedView(record, tokens));
  }

  async pending(): Promise<PendingDevice[]> {
    const { waiting, now } = this.#options;
    return (await waiting.list(now())).map(pendingView);
  }

  async rename(deviceId: string, displayName: string): Promise<boolean> {
    const givenName = displayName.trim();
    if (givenName === "" || givenName.length > MAX_NAME) invalidRequest(`a name must have 1 to ${MAX_NAME} characters`);
    const { store, storage } = this.#options;
    return untilUnchanged(async () => {
      const device = await store.get(deviceId);
      if (!device) return false;
      await storage.transaction([writeDevice({ ...device.record, givenName }, device)]);
      return true;
    });
  }

  /** Deletes a device, its tokens and its pending request, and closes all its connections. @throws GatewayError `NOT_FOUND` */
  async remove(deviceId: string, by: string): Promise<{ deviceId: string }> {
    const { storage, credentials, log } = this.#options;
    try {
      await storage.transaction(removeDevice(deviceId));
    } catch (error) {
      if (isGatewayError(error) && error.code === "CONFLICT") missing.device(deviceId);
      throw error;
    }
    await credentials.revokeDevice(deviceId, REMOVED);
    log.info({ deviceId, by }, "a device was removed");
    return { deviceId };
  }
}
