/** Commands of nodes that are connected to other gateways on the same state. */
import { unavailable } from "@svc/sdk";
import type { Peers } from "@svc/sdk/gateway";
import type { NodeAnswer } from "@svc/sdk/nodes";
import { DEFAULT_TIMEOUT_MS, type Invocation, type Invocations } from "./invocations.ts";
import type { ConnectedNode, NodeRegistry } from "./registry.ts";

/** Topic of the connected nodes, and name of the calls. */
export const NODES = "nodes/connected";
const INVOKE = "nodes/invoke";
/** Choice: milliseconds beyond the timeout of a command until its gateway counts as gone. */
const GRACE_MS = 5_000;
/** Maximum of a timer. */
const MAX_TIMEOUT_MS = 2_147_483_647;

/** A connected node, wherever it is connected. */
export interface KnownNode extends ConnectedNode {
  /** Absent: this one. */
  readonly gateway?: string;
}

interface Asked extends Omit<Invocation, "signal"> {
  readonly nodeId: string;
  readonly connectionId: string;
}

export interface RoutingSources {
  readonly registry: NodeRegistry;
  readonly invocations: Invocations;
  readonly peers: Peers;
}

export interface Routing {
  /** Each node once, where its newest connection is. */
  nodes(): readonly KnownNode[];
  node(nodeId: string): KnownNode | undefined;
  /** @throws GatewayError as `Invocations.invoke` */
  invoke(node: KnownNode, invocation: Invocation): Promise<NodeAnswer>;
  /** Serves the commands that other gateways send. @returns ends it */
  serve(): () => void;
}

export function createRouting({ registry, invocations, peers }: RoutingSources): Routing {
  function nodes(): readonly KnownNode[] {
    const known = new Map<string, KnownNode>(registry.all().map((node) => [node.nodeId, node]));
    for (const { gateway, value } of peers.shared(NODES)) {
      const node = value as ConnectedNode; // shared by this plugin
      const here = known.get(node.nodeId);
      if (!here || here.connectedAtMs < node.connectedAtMs) known.set(node.nodeId, { ...node, gateway });
    }
    return [...known.values()];
  }

  async function invoke(node: KnownNode, { signal, ...invocation }: Invocation): Promise<NodeAnswer> {
    const { gateway, nodeId, connectionId } = node;
    if (gateway === undefined) return invocations.invoke(node, { ...invocation, signal });
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = invocation;
    const asked: Asked = { ...invocation, nodeId, connectionId };
    const options = { timeoutMs: Math.min(timeoutMs + GRACE_MS, MAX_TIMEOUT_MS), signal };
    return (await peers.ask(gateway, INVOKE, asked, options)) as NodeAnswer; // from `serve` of that gateway
  }

  return {
    nodes,
    node: (nodeId) => nodes().find((one) => one.nodeId === nodeId),
    invoke,
    serve: () =>
      peers.answer(INVOKE, (params, signal) => {
        const { nodeId, connectionId, ...invocation } = params as Asked; // from `invoke` of another gateway
        const node = registry.get(nodeId);
        if (node?.connectionId !== connectionId) return unavailable(`Error: node disconnected (${invocation.command})`);
        return invocations.invoke(node, { ...invocation, signal });
      }),
  };
}
