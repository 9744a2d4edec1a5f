/** Tracks connects and disconnects of nodes. Their approved commands are looked up before the connect completes. */
import type { Admission, ConnectionInfo, PluginGateway } from "@svc/sdk";
import type { Devices } from "@svc/sdk/devices";
import type { GatewayInfo } from "@svc/sdk/gateway";
import type { Invocations } from "./invocations.ts";
import { type Declaration, declarationOf, type NodeRegistry } from "./registry.ts";
import { stillConnected } from "./still-connected.ts";

interface JoiningSources {
  readonly registry: NodeRegistry;
  readonly devices: Pick<Devices, "offer" | "get">;
  readonly host: Pick<GatewayInfo, "connections">;
  readonly invocations: Invocations;
  /** Commands that the configuration denies on all nodes. */
  readonly denied: () => readonly string[];
  /** Called when a node is registered. */
  readonly connected: (nodeId: string, connectionId: string) => void;
  /** Called when a node has disconnected. */
  readonly disconnected: (nodeId: string) => void;
  /** Called when a connection with a proven device has closed. */
  readonly gone: (connectionId: string) => void;
}

/** Must be called in `setup`. */
export function followConnections(
  { hooks, clock, log }: Pick<PluginGateway, "hooks" | "clock" | "log">,
  { registry, devices, host, invocations, denied, connected, disconnected, gone }: JoiningSources,
): void {
  // Runs first after all gates. It is not a gate itself, so that devices that are not nodes do not depend on this plugin.
  hooks.deviceToken.tap(
    async (admission) => {
      const { id, device, principal } = admission;
      if (principal.role !== "node" || device === undefined) return undefined;
      registry.expect(id);
      registry.admit(await look(device, admission));
      return undefined;
    },
    { phase: "first" },
  );
  hooks.connectionReady.tap(async (connection) => {
    const joined = registry.ready(connection.id, clock.now());
    if (!joined) return adopt(connection);
    const { nodeId, offered, withheld } = joined.node;
    if (joined.former) invocations.disconnected(joined.former.connectionId);
    log.info({ nodeId, commands: offered.length, withheld: withheld.length }, "a node is connected");
    connected(nodeId, connection.id);
  });
  hooks.connectionClosed.tap(({ id, device }) => {
    if (device === undefined) return;
    const left = registry.closed(id, device);
    invocations.disconnected(id);
    gone(id);
    if (!left) return;
    log.info({ nodeId: left.nodeId }, "a node has disconnected");
    disconnected(left.nodeId);
  });

  /** If the lookup fails, all declared commands are withheld until the device record can be read. */
  async function look(device: string, admission: Admission): Promise<Declaration> {
    try {
      const offer = await devices.offer(admission, denied());
      return declarationOf(device, admission, await devices.get(device), offer);
    } catch (error) {
      log.warn(
        { err: error, nodeId: device },
        "the approved commands of a node could not be looked up; all its commands are withheld for now",
      );
      return declarationOf(device, admission, undefined, { commands: [], withheld: admission.connect.commands ?? [] });
    }
  }

  /** Registers a node that connected while this plugin was being reloaded. */
  async function adopt({ id, device, principal }: ConnectionInfo): Promise<void> {
    if (principal?.role !== "node" || device === undefined) return;
    const record = await devices.get(device);
    const connection = host.connections().find((one) => one.id === id); // it may have closed meanwhile
    if (!record || !connection) return;
    for (const node of stillConnected([record], [connection])) {
      registry.adopt(node, clock.now());
      connected(node.nodeId, id);
    }
  }
}
