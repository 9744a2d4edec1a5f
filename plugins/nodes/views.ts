/** Nodes as `node.list` returns them: paired devices joined with connected nodes. Pure. Spec: protocol/methods-node.md §1. */
import type { PairedDevice, PendingDevice } from "@svc/sdk/devices";
import type { NodeView } from "@svc/sdk/nodes";
import { allowlistFor, type CommandRules, isGatewayOnly } from "./command-policy.ts";
import type { ConnectedNode } from "./registry.ts";
import { shownLine } from "./texts.ts";
import { present } from "./values.ts";

const MAX_NAME = 200;

/** Whether a device is a node, or requests to be one. */
export function isNodeDevice({ role, roles }: Pick<PairedDevice | PendingDevice, "role" | "roles">): boolean {
  return role === "node" || (roles?.includes("node") ?? false);
}

/** Commands that can be invoked now: declared, approved and allowed. */
export function usableCommands(node: ConnectedNode, rules: CommandRules): readonly string[] {
  const allowed = allowlistFor(node.policyPlatform, rules);
  return node.offered.filter((command) => allowed.has(command) && !isGatewayOnly(command));
}

/** Connected nodes first, then by name or id, ignoring case, then by id. */
export function nodeViews(
  devices: readonly PairedDevice[],
  connected: readonly ConnectedNode[],
  rules: CommandRules,
): NodeView[] {
  const paired = new Map(devices.filter(isNodeDevice).map((device) => [device.deviceId, device]));
  const live = new Map(connected.map((node) => [node.nodeId, node]));
  const ids = new Set([...paired.keys(), ...live.keys()]);
  return [...ids].map((nodeId) => nodeView(nodeId, paired.get(nodeId), live.get(nodeId), rules)).sort(inOrder);
}

/** Choice: the name in the device record takes precedence, so that `node.rename` takes effect at once. Absent values are left out. */
function nodeView(
  nodeId: string,
  device: PairedDevice | undefined,
  node: ConnectedNode | undefined,
  rules: CommandRules,
): NodeView {
  const withheld = node ? node.withheld : [];
  const view: NodeView = {
    nodeId,
    caps: [...(node?.caps ?? [])],
    commands: node ? [...usableCommands(node, rules)] : [],
    paired: device !== undefined,
    connected: node !== undefined,
  };
  const facts = {
    displayName: shownLine(device?.displayName, MAX_NAME) ?? node?.displayName,
    platform: node?.platform ?? shownLine(device?.platform, MAX_NAME),
    remoteIp: node?.remoteIp ?? shownLine(device?.remoteIp, MAX_NAME),
    version: node?.version,
    deviceFamily: node?.deviceFamily,
    modelIdentifier: node?.modelIdentifier,
    pathEnv: node?.pathEnv,
    permissions: node?.permissions,
    connectedAtMs: node?.connectedAtMs,
    pendingCommands: withheld.length > 0 ? [...withheld] : undefined,
  };
  return { ...view, ...present(facts) };
}

function inOrder(left: NodeView, right: NodeView): number {
  if (left.connected !== right.connected) return left.connected ? -1 : 1;
  const [a, b] = [sortName(left), sortName(right)];
  if (a !== b) return a < b ? -1 : 1;
  return left.nodeId < right.nodeId ? -1 : 1;
}

function sortName({ displayName, nodeId }: NodeView): string {
  return (displayName ?? nodeId).toLowerCase();
}
