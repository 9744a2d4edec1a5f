/** Nodes: connected devices that share their capabilities. Invokes their commands and handles their events. */
import { randomUUID } from "node:crypto";
import { ownerOf } from "@svc/kit/ownership";
import { definePlugin, HOOKS, lazy, live, type Principal } from "@svc/sdk";
import { agentEvent, AgentRuns } from "@svc/sdk/agents";
import { ExecApprovals } from "@svc/sdk/approvals";
import { chatEvent } from "@svc/sdk/chat";
import { Devices } from "@svc/sdk/devices";
import { GatewayInfo, Peers } from "@svc/sdk/gateway";
import { healthEvent } from "@svc/sdk/health";
import { SystemEvents } from "@svc/sdk/heartbeat";
import { Importer, importerOf, NodeRecord } from "@svc/sdk/import";
import { nodeInvokeRequest, nodePairRequested, nodePairResolved, nodes, Nodes } from "@svc/sdk/nodes";
import { push } from "@svc/sdk/push";
import { tick } from "@svc/sdk/protocol";
import { Sessions } from "@svc/sdk/sessions";
import { Ownership, Retention, Storage } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import { Asking, unknownNode } from "./asking.ts";
import { NodesConfig } from "./config.ts";
import type { Caller } from "./remote-run/caller.ts";
import { copySubscribed, copyTools } from "./copies.ts";
import { Invocations } from "./invocations.ts";
import { followConnections } from "./joining.ts";
import { nodeMethods, operatorMethods, pairingMethods } from "./methods.ts";
import { NodeOwners } from "./node-owners.ts";
import { NodeEvents } from "./node-events.ts";
import { nodesTool } from "./node-tool.ts";
import { OlderStore } from "./older-store.ts";
import { NodeRuns } from "./node-runs.ts";
import { forgetRemoved, keepRegistration, PUSH_RETENTION } from "./push/store.ts";
import { Pushes } from "./push/pushes.ts";
import { Waking } from "./push/waking.ts";
import { type ConnectedNode, NodeRegistry, repinned } from "./registry.ts";
import { createRouting, NODES } from "./routing.ts";
import { NODE_RETENTION, PENDING_RETENTION, STEPS } from "./schema.ts";
import { stillConnected } from "./still-connected.ts";
import { keepStarted, RUN_RETENTION, startedRun } from "./started-runs.ts";
import { Subscriptions } from "./subscriptions.ts";
import { nodeViews } from "./views.ts";

const importing = lazy(() => import("./import.ts"));

const requires = {
  storage: Storage,
  ownership: Ownership,
  peers: Peers,
  devices: Devices,
  host: GatewayInfo,
  approvals: live(ExecApprovals),
  runs: live(AgentRuns),
  sessions: live(Sessions),
  events: live(SystemEvents),
};

export default definePlugin({
  id: "nodes",
  api: "^1.0.0",
  config: NodesConfig,
  section: "gateway.nodes",
  requires,
  provides: [Nodes],
  after: ["devices"],

  setup(gateway) {
    const { clock, log, services, hooks } = gateway;
    const { storage, ownership, peers, devices, host, approvals, sessions } = services;
    let rules = gateway.config;
    gateway.configChanged((config) => void (rules = config));

    const registry = new NodeRegistry((nodeId, node) => peers.share(NODES, nodeId, node));
    const subscriptions = new Subscriptions();
    const ask = gateway.event(nodeInvokeRequest);
    const invocations = new Invocations({
      clock,
      newId: randomUUID,
      send: (request, connectionId) => ask(request, { connections: [connectionId] }),
    });
    const store = new OlderStore({
      storage,
      now: () => clock.now(),
      newId: randomUUID,
    });
    const pushes = new Pushes({ storage, clock, log });
    const waking = new Waking({ pushes, clock, log, stopped: gateway.signal });
    const routing = createRouting({ registry, invocations, peers });
    const asking = new Asking({
      routing,
      waking,
      devices,
      approvals,
      sessions,
      starting: (run) => keepStarted(storage, run, clock.now()),
      newId: randomUUID,
      rules: () => rules,
      log,
    });
    const runs = new NodeRuns({ runs: services.runs, sessions, log });
    const events = new NodeEvents({
      runs,
      sessions,
      events: services.events,
      subscriptions,
      spoke: gateway.emits(HOOKS.nodeSpoke),
      keepPush: (nodeId, registration) => keepRegistration(storage, nodeId, registration, clock.now()),
      started: (nodeId, runId) => startedRun(storage, nodeId, runId),
      isCurrent: (nodeId, connectionId) => registry.get(nodeId)?.connectionId === connectionId,
      clock,
      log,
      newId: randomUUID,
    });
    const list = async () => {
      const paired = await devices.list();
      const byId = new Map(paired.map((device) => [device.deviceId, device]));
      const pinned = <N extends ConnectedNode>(node: N) => {
        const device = byId.get(node.nodeId);
        return device ? repinned(node, device) : node;
      };
      return nodeViews(paired, routing.nodes().map(pinned), rules);
    };

    const requested = gateway.event(nodePairRequested);
    const resolved = gateway.event(nodePairResolved);
    const sources = {
      asking,
      devices,
      store,
      registry,
      invocations,
      events,
      list,
      requested,
      now: () => clock.now(),
      resolved: (requestId: string, nodeId: string, decision: "approved" | "rejected") =>
        resolved({ requestId, nodeId, decision, ts: clock.now() }),
    };
    gateway.serve(nodes, { ...operatorMethods(sources), ...pairingMethods(sources), ...nodeMethods(sources) });
    gateway.serve(push, {
      async test({ params, signal }) {
        const isKnown = (await list()).some(({ nodeId }) => nodeId === params.nodeId);
        return isKnown ? pushes.test(params, signal) : unknownNode(params.nodeId);
      },
    });
    gateway.provide(Nodes, {
      list,
      invoke: (invocation, invoker) => asking.invoke(invocation, invoker),
      policyFile: (nodeId, change) => asking.policyFile(nodeId, change),
      async browserRouting() {
        const { mode = "auto", node } = rules.browser ?? {};
        return { mode, ...(node === undefined ? {} : { node }) };
      },
    });

    // Through the methods, so that their checks apply to agents, too.
    const callerFor = (principal: Principal): Caller => ({
      call: (method, params) => gateway.call(method, params, { principal }),
    });
    gateway.extend(Tool, "nodes", nodesTool(callerFor));

    const owners = new NodeOwners({
      storage,
      log,
      connected: () => registry.all().map(({ nodeId }) => nodeId),
      left(nodeId) {
        const node = registry.left(nodeId);
        if (!node) return;
        invocations.disconnected(node.connectionId);
        log.info({ nodeId }, "a node is connected to another gateway");
      },
    });
    const nodeConnected = gateway.emits(HOOKS.nodeConnected);
    followConnections(gateway, {
      registry,
      devices,
      host,
      invocations,
      denied: () => rules.denyCommands ?? [],
      connected(nodeId, connectionId) {
        waking.connected(nodeId);
        void owners.connected(nodeId);
        void nodeConnected.emit({ nodeId, connectionId });
      },
      disconnected: (nodeId) => void owners.disconnected(nodeId),
      gone: (connectionId) => subscriptions.drop(connectionId),
    });
    hooks.runFinished.tap(({ runId }) => runs.ended(runId));
    copySubscribed(gateway, subscriptions, [chatEvent, agentEvent], [healthEvent, tick]);
    copyTools(gateway, subscriptions, async (key) => (await sessions.get()?.get(key))?.verboseLevel, clock);
    const imported = importerOf(
      { title: "nodes of the older store", record: NodeRecord },
      {
        takeOne: async (record) => (await importing()).takeNode(storage, record),
        count: async () => (await importing()).countNodes(storage),
      },
    );
    gateway.extend(Importer, "node", imported);
    gateway.extend(Retention, "nodes", NODE_RETENTION);
    gateway.extend(Retention, "node-runs", RUN_RETENTION);
    gateway.extend(Retention, "node-requests", PENDING_RETENTION);
    gateway.extend(Retention, "node-push", {
      ...PUSH_RETENTION,
      clean: async (dryRun) => forgetRemoved(storage, await devices.list(), dryRun),
    });
    gateway.start(async () => {
      await storage.migrate("nodes", STEPS);
      for (const node of stillConnected(await devices.list(), host.connections())) registry.adopt(node, clock.now());
      await owners.open(await ownerOf(gateway, ownership, () => owners.look()));
      const ends = [
        routing.serve(),
        peers.follow(NODES, () => {
          for (const { key } of peers.shared(NODES)) waking.connected(key);
        }),
      ];
      return () => {
        for (const end of ends) end();
        invocations.stop();
      };
    });
  },
});
