/** The `Devices` service: the paired devices, for plugins that use what devices offer. */
import type { PairedDevice, PendingDevice } from "./contract.ts";
import type { Admission } from "../host-hooks.ts";
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";

/** The commands that a node may offer now. */
export interface OfferedCommands {
  /** The declared commands that were pinned when the node was approved. */
  readonly commands: readonly string[];
  /** The other declared commands, which wait in a request for approval. */
  readonly withheld: readonly string[];
}

/** Paired devices and pairing requests. */
export interface Devices {
  get(deviceId: string): Promise<PairedDevice | undefined>;
  /** Newest approval first. */
  list(): Promise<readonly PairedDevice[]>;
  /** Newest first, without expired requests. */
  pending(): Promise<readonly PendingDevice[]>;
  /**
   * Approves a pending device.
   * @param approver its scopes must cover the granted ones
   * @throws GatewayError `NOT_FOUND`: no such pending request; `INVALID_REQUEST`: more than the approver may grant
   */
  approve(requestId: string, approver: Principal): Promise<{ requestId: string; device: PairedDevice }>;
  /** @throws GatewayError `NOT_FOUND` */
  reject(requestId: string): Promise<{ requestId: string; deviceId: string }>;
  /** @returns whether the device exists */
  rename(deviceId: string, displayName: string): Promise<boolean>;
  /**
   * Which of its declared commands an admitted node may offer; creates a request for the others.
   * @param denied commands that an imported node does not get at its first connect without an approval; default none
   */
  offer(admission: Admission, denied?: readonly string[]): Promise<OfferedCommands>;
}

/** Token of the service. */
export const Devices = defineService<Devices>()("devices", "1.0.0", {
  summary: "Paired devices. Provided by the plugin `devices`; used by plugins that show or push to devices.",
});
