/** Nodes: devices that offer commands to the gateway. Spec: protocol/methods-node.md, protocol/events.md §2 and §8. */
import { defineContract, defineEvent } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());
const filled = Type.Optional(NonEmpty);
const strings = Type.Array(Type.String());
const Time = Type.Integer({ description: "epoch ms" });

/** A node as listed by `node.list`. */
export const NodeView = Type.Object({
  nodeId: Type.String({ description: "device id of the node" }),
  displayName: text,
  platform: text,
  version: text,
  deviceFamily: text,
  modelIdentifier: text,
  remoteIp: text,
  caps: strings,
  commands: Type.Array(Type.String(), { description: "commands that can be invoked now" }),
  pendingCommands: Type.Optional(
    Type.Array(Type.String(), { description: "declared commands, withheld until they are approved" }),
  ),
  pathEnv: text,
  permissions: Type.Optional(Type.Record(Type.String(), Type.Boolean())),
  connectedAtMs: Type.Optional(Time),
  paired: Type.Boolean(),
  connected: Type.Boolean(),
});
export type NodeView = Static<typeof NodeView>;

/** Facts reported by a node of the older store, or by a device awaiting approval as a node. */
const olderFacts = {
  displayName: text,
  platform: text,
  version: text,
  coreVersion: text,
  uiVersion: text,
  deviceFamily: text,
  modelIdentifier: text,
  caps: Type.Optional(strings),
  commands: Type.Optional(strings),
  permissions: Type.Optional(Type.Record(Type.String(), Type.Boolean())),
  remoteIp: text,
};

/** A request in the older node store, or a pending device with the role node; `device.pair.*` lists the latter, too. */
export const PendingNode = Type.Object({
  requestId: NonEmpty,
  nodeId: NonEmpty,
  ...olderFacts,
  silent: Type.Optional(Type.Boolean()),
  isRepair: Type.Optional(Type.Boolean()),
  ts: Time,
});
export type PendingNode = Static<typeof PendingNode>;

/** A node of the older store. */
export const PairedNode = Type.Object({
  nodeId: NonEmpty,
  ...olderFacts,
  createdAtMs: Time,
  approvedAtMs: Time,
  lastConnectedAtMs: Type.Optional(Time),
});
export type PairedNode = Static<typeof PairedNode>;

const Request = Strict({ requestId: NonEmpty });

/** Nodes: listing, naming, pairing and invoking their commands. */
export const nodes = defineContract("node", {
  list: {
    summary: "List nodes, connected ones first",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ ts: Time, nodes: Type.Array(NodeView) }),
  },
  describe: {
    summary: "Get one node",
    scope: "operator.read",
    params: Strict({ nodeId: NonEmpty }),
    result: Type.Object({ ts: Time, ...NodeView.properties }),
  },
  invoke: {
    summary: "Run a command on a node and wait for its result",
    scope: "operator.write",
    params: Strict({
      nodeId: NonEmpty,
      command: NonEmpty,
      params: Type.Optional(Type.Unknown()),
      timeoutMs: Type.Optional(Type.Integer({ minimum: 0, description: "milliseconds; default 30000" })),
      idempotencyKey: filled,
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      nodeId: NonEmpty,
      command: NonEmpty,
      payload: Type.Optional(Type.Unknown()),
      payloadJSON: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  rename: {
    summary: "Rename a node",
    scope: "operator.pairing",
    params: Strict({ nodeId: NonEmpty, displayName: NonEmpty }),
    result: Type.Object({ nodeId: NonEmpty, displayName: NonEmpty }),
  },
  pairRequest: {
    name: "node.pair.request",
    summary: "Request approval in the older node store, which grants no connection",
    scope: "operator.pairing",
    params: Strict({
      nodeId: NonEmpty,
      displayName: filled,
      platform: filled,
      version: filled,
      coreVersion: filled,
      uiVersion: filled,
      deviceFamily: filled,
      modelIdentifier: filled,
      remoteIp: filled,
      caps: Type.Optional(Type.Array(NonEmpty)),
      commands: Type.Optional(Type.Array(NonEmpty)),
      silent: Type.Optional(Type.Boolean()),
    }),
    result: Type.Object({ status: Type.Literal("pending"), request: PendingNode, created: Type.Boolean() }),
  },
  pairList: {
    name: "node.pair.list",
    summary: "List pending and paired nodes",
    scope: "operator.pairing",
    params: Strict({}),
    result: Type.Object({ pending: Type.Array(PendingNode), paired: Type.Array(PairedNode) }),
  },
  pairApprove: {
    name: "node.pair.approve",
    summary: "Approve a pending node; also accepts requests of devices",
    scope: "operator.pairing",
    params: Request,
    result: Type.Object({ requestId: NonEmpty, node: PairedNode }),
  },
  pairReject: {
    name: "node.pair.reject",
    summary: "Reject a pending node; also accepts requests of devices",
    scope: "operator.pairing",
    params: Request,
    result: Type.Object({ requestId: NonEmpty, nodeId: NonEmpty }),
  },
  pairVerify: {
    name: "node.pair.verify",
    summary: "Check whether this token was issued to a node by an approval in the older node store",
    scope: "operator.pairing",
    params: Strict({ nodeId: NonEmpty, token: NonEmpty }),
    result: Type.Object({ ok: Type.Boolean(), node: Type.Optional(PairedNode) }),
  },
  invokeResult: {
    name: "node.invoke.result",
    summary: "Return the result of a command; sent by the node that ran it",
    scope: "none",
    role: "node",
    answers: true,
    params: Strict({
      id: NonEmpty,
      nodeId: NonEmpty,
      ok: Type.Boolean(),
      payload: Type.Optional(Type.Unknown()),
      payloadJSON: Type.Optional(Type.Unknown()),
      error: Type.Optional(
        Type.Union([Type.Object({ code: filled, message: filled }, { additionalProperties: false }), Type.Null()]),
      ),
    }),
    result: Type.Object({ ok: Type.Literal(true), ignored: Type.Optional(Type.Literal(true)) }),
  },
  event: {
    summary: "Report an event; sent by a node",
    scope: "none",
    role: "node",
    params: Strict({
      event: NonEmpty,
      payload: Type.Optional(Type.Unknown()),
      payloadJSON: Type.Optional(Type.String()),
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      event: Type.String(),
      handled: Type.Boolean({ description: "false: the gateway ignores this event" }),
      reason: Type.Optional(Type.String({ description: "why it was ignored" })),
    }),
  },
});

/** Access of a node to the pages that it displays. */
export const nodeCanvas = defineContract("node.canvas", {
  refresh: {
    name: "node.canvas.capability.refresh",
    summary: "Get a new canvas URL for this node; its previous one ends",
    scope: "none",
    role: "node",
    params: Strict({}),
    result: Type.Object({ canvasCapability: NonEmpty, canvasCapabilityExpiresAtMs: Time, canvasHostUrl: NonEmpty }),
  },
});

/** A node requests approval, in the older store or as a device. */
export const nodePairRequested = defineEvent({
  name: "node.pair.requested",
  summary: "A node requests approval",
  payload: PendingNode,
  scope: "operator.pairing",
  droppable: true,
});

/** A request of a node was decided. */
export const nodePairResolved = defineEvent({
  name: "node.pair.resolved",
  summary: "A request of a node was approved or rejected",
  payload: Type.Object({
    requestId: NonEmpty,
    nodeId: NonEmpty,
    decision: Type.Enum(["approved", "rejected"]),
    ts: Time,
  }),
  scope: "operator.pairing",
  droppable: true,
});

/** Sent to one node to run a command. */
export const nodeInvokeRequest = defineEvent({
  name: "node.invoke.request",
  summary: "A node must run a command",
  payload: Type.Object({
    id: NonEmpty,
    nodeId: NonEmpty,
    command: NonEmpty,
    paramsJSON: Type.Union([Type.String(), Type.Null()]),
    timeoutMs: Type.Optional(Type.Integer()),
    idempotencyKey: filled,
  }),
});
