/** Methods of `node.*`. Spec: protocol/methods-node.md. */
import { type ConnectionInfo, type Handlers, invalidRequest, notFound, type Principal } from "@svc/sdk";
import type { Devices, PairedDevice, PendingDevice } from "@svc/sdk/devices";
import type { NodeAnswer, nodes, NodeView, PairedNode, PendingNode } from "@svc/sdk/nodes";
import { type Asking, unknownNode } from "./asking.ts";
import type { Invocations } from "./invocations.ts";
import type { NodeEvents } from "./node-events.ts";
import type { OlderStore } from "./older-store.ts";
import type { NodeRegistry } from "./registry.ts";
import { shownLine } from "./texts.ts";
import { present } from "./values.ts";
import { isNodeDevice } from "./views.ts";

/** Choice: maximum characters of a name given to a node. */
const MAX_NAME = 200;

interface MethodSources {
  readonly asking: Asking;
  readonly devices: Devices;
  readonly store: OlderStore;
  readonly registry: NodeRegistry;
  readonly invocations: Invocations;
  readonly events: NodeEvents;
  readonly list: () => Promise<NodeView[]>;
  /** epoch ms */
  readonly now: () => number;
  readonly requested: (request: PendingNode) => void;
  readonly resolved: (requestId: string, nodeId: string, decision: "approved" | "rejected") => void;
}

type NodeHandlers = Handlers<typeof nodes>;

/** Methods for operators: list, describe, invoke, rename. */
export function operatorMethods({ asking, list, devices, store, now }: MethodSources) {
  return {
    list: async () => ({ ts: now(), nodes: await list() }),
    async describe({ params }) {
      const node = (await list()).find(({ nodeId }) => nodeId === params.nodeId);
      return { ts: now(), ...(node ?? unknownNode(params.nodeId)) };
    },
    async invoke({ params, principal, connection, signal }) {
      const answer: NodeAnswer = await asking.invoke(params, { principal, ...askedBy(connection), signal });
      const { nodeId, command } = params;
      return { ok: true, nodeId: nodeId.trim(), command: command.trim(), ...answer };
    },
    async rename({ params: { nodeId, displayName } }) {
      const name = shownLine(displayName, MAX_NAME);
      if (name === undefined || name !== displayName.trim()) {
        return invalidRequest(`displayName must be one line of 1 to ${MAX_NAME} visible characters`);
      }
      const device = await devices.get(nodeId);
      const isDevice = device !== undefined && isNodeDevice(device) && (await devices.rename(nodeId, name));
      const isOlder = await store.rename(nodeId, name);
      return isDevice || isOlder ? { nodeId, displayName: name } : unknownNode(nodeId);
    },
  } satisfies Partial<NodeHandlers>;
}

function askedBy(connection: ConnectionInfo | undefined) {
  return {
    ...(connection && { connectionId: connection.id }),
    ...(connection?.device !== undefined && { deviceId: connection.device }),
  };
}

/** Methods of the older store; they also list and decide requests of devices. Spec: §5, seed-vs-build.md row 8. */
export function pairingMethods({ devices, store, requested, resolved }: MethodSources) {
  /** @throws GatewayError `NOT_FOUND` */
  const deviceRequest = async (requestId: string): Promise<PendingDevice> => {
    const request = (await devices.pending()).find((one) => one.requestId === requestId);
    return request && isNodeDevice(request)
      ? request
      : notFound("no request has this id, or it has expired; see: svc nodes approve, svc devices list");
  };
  return {
    async pairRequest({ params: { nodeId, ...facts } }) {
      const { request, created } = await store.request(nodeId, facts);
      if (created) requested(request);
      return { status: "pending", request, created };
    },
    async pairList() {
      const [waiting, older, pendingDevices, paired] = await Promise.all([
        store.pending(),
        store.paired(),
        devices.pending(),
        devices.list(),
      ]);
      const asNodes = paired.filter(isNodeDevice).map(pairedView);
      const ids = new Set(asNodes.map(({ nodeId }) => nodeId));
      return {
        pending: [...waiting, ...pendingDevices.filter(isNodeDevice).map(pendingView)].sort((a, b) => b.ts - a.ts),
        paired: [...asNodes, ...older.filter(({ nodeId }) => !ids.has(nodeId))],
      };
    },
    async pairApprove({ params: { requestId }, principal }) {
      const node = (await store.approve(requestId)) ?? (await approveDevice(requestId, principal));
      resolved(requestId, node.nodeId, "approved");
      return { requestId, node };
    },
    async pairReject({ params: { requestId } }) {
      const nodeId = (await store.reject(requestId)) ?? (await rejectDevice(requestId));
      resolved(requestId, nodeId, "rejected");
      return { requestId, nodeId };
    },
    async pairVerify({ params: { nodeId, token } }) {
      const node = await store.verify(nodeId, token);
      return node ? { ok: true, node } : { ok: false };
    },
  } satisfies Partial<NodeHandlers>;

  async function approveDevice(requestId: string, principal: Principal): Promise<PairedNode> {
    await deviceRequest(requestId);
    return pairedView((await devices.approve(requestId, principal)).device);
  }

  async function rejectDevice(requestId: string): Promise<string> {
    await deviceRequest(requestId);
    return (await devices.reject(requestId)).deviceId;
  }
}

/** Methods that nodes call. */
export function nodeMethods({ registry, invocations, events }: MethodSources) {
  return {
    invokeResult({ params, connection, principal }) {
      const own = nodeOf(connection, principal);
      if (params.nodeId !== own.nodeId) invalidRequest("nodeId is not the id of the device of this connection");
      return invocations.settle(own.connectionId, params) ? { ok: true } : { ok: true, ignored: true };
    },
    async event({ params: { event, payload, payloadJSON }, connection, principal }) {
      const own = nodeOf(connection, principal);
      const name = registry.get(own.nodeId)?.displayName ?? own.nodeId.slice(0, 12);
      const given = payloadJSON === undefined ? payload : parsed(payloadJSON);
      const handled = await events.handle({ ...own, name, event, payload: given });
      return { ok: true as const, event, ...handled };
    },
  } satisfies Partial<NodeHandlers>;
}

/** @throws GatewayError `INVALID_REQUEST`: not a connection of a node with a device */
function nodeOf(connection: ConnectionInfo | undefined, principal: Principal) {
  const nodeId = connection?.device ?? principal.device;
  if (connection === undefined || nodeId === undefined) {
    return invalidRequest("only a connected node with a device can call this method");
  }
  return { nodeId, connectionId: connection.id, principal };
}

/** Choice: text that is not JSON counts as no payload. */
function parsed(payloadJSON: string): unknown {
  try {
    return JSON.parse(payloadJSON);
  } catch {
    return undefined;
  }
}

function pendingView(device: PendingDevice): PendingNode {
  const { requestId, deviceId, displayName, platform, deviceFamily, caps, commands, remoteIp, silent, isRepair, ts } =
    device;
  const facts = { displayName, platform, deviceFamily, caps, commands, remoteIp, silent, isRepair };
  return { requestId, nodeId: deviceId, ts, ...present(facts) };
}

function pairedView({ deviceId, createdAtMs, approvedAtMs, ...device }: PairedDevice): PairedNode {
  const { displayName, platform, deviceFamily, commands, remoteIp } = device;
  const facts = { displayName, platform, deviceFamily, commands, remoteIp };
  return { nodeId: deviceId, createdAtMs, approvedAtMs, ...present(facts) };
}
