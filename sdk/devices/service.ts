/** The `Devices` service: who is paired, for plugins that serve what devices offer. */
import type { PairedDevice, PendingDevice } from "./contract.ts";
import type { Admission } from "../host-hooks.ts";
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";

/** What a node may offer now. */
export interface OfferedCommands {
  /** Those of the declared ones that were pinned when it was approved. */
  readonly commands: readonly string[];
  /** The others: they wait in a request for an approval. */
  readonly withheld: readonly string[];
}

/** Paired devices and requests to become one. */
export interface Devices {
  get(deviceId: string): Promise<PairedDevice | undefined>;
  /** Newest approval first. */
  list(): Promise<readonly PairedDevice[]>;
  /** Newest first; none that has expired. */
  pending(): Promise<readonly PendingDevice[]>;
  /**
   * Lets a waiting device in.
   * @param approver whose scopes have to cover what is granted
   * @throws GatewayError `NOT_FOUND`: no such request now; `INVALID_REQUEST`: more than the approver may give
   */
  approve(requestId: string, approver: Principal): Promise<{ requestId: string; device: PairedDevice }>;
  /** @throws GatewayError `NOT_FOUND` */
  reject(requestId: string): Promise<{ requestId: string; deviceId: string }>;
  /** @returns whether there is such a device */
  rename(deviceId: string, displayName: string): Promise<boolean>;
  /** Which of its declared commands a node that was admitted may offer; makes a request for those it may not. */
  offer(admission: Admission): Promise<OfferedCommands>;
}

/** Paired devices. Provided by the plugin `devices`. */
export const Devices = defineService<Devices>()("devices", "1.0.0");
