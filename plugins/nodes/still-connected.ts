/** Nodes that stay connected while this plugin is reloaded. Pure. */
import type { ConnectionInfo } from "@svc/sdk";
import type { PairedDevice } from "@svc/sdk/devices";
import { type Declaration, declarationOf } from "./registry.ts";

/**
 * Choice: the declaration of such a node is lost, so until it reconnects it offers its approved commands.
 * @param connections oldest first; the newest connection of a node counts
 */
export function stillConnected(
  devices: readonly PairedDevice[],
  connections: readonly ConnectionInfo[],
): readonly Declaration[] {
  const paired = new Map(devices.map((device) => [device.deviceId, device]));
  const nodes = new Map<string, Declaration>();
  for (const { id, remoteAddress, client, caps, device: nodeId, principal } of connections) {
    const device = nodeId === undefined ? undefined : paired.get(nodeId);
    if (!device || !client || principal?.role !== "node") continue;
    const commands = device.commands ?? [];
    const said = { id, remoteAddress, connect: { client, caps: [...caps], commands } };
    nodes.set(device.deviceId, declarationOf(device.deviceId, said, device, { commands, withheld: [] }));
  }
  return [...nodes.values()];
}
