/** The `Nodes` service: asking connected nodes to do things. */
import type { NodeView } from "./contract.ts";
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";

/** A command for a node. */
export interface NodeInvocation {
  readonly nodeId: string;
  readonly command: string;
  /** Sent as JSON; absent: none. */
  readonly params?: unknown;
  /** Milliseconds; default 30000; 0 times out at once. */
  readonly timeoutMs?: number;
  readonly idempotencyKey?: string;
}

/** Whom it is asked for. */
export interface NodeInvoker {
  readonly principal: Principal;
  /** Device and connection that asked, where there are any: an approval belongs to whoever requested it. */
  readonly deviceId?: string;
  readonly connectionId?: string;
  readonly signal?: AbortSignal;
}

/** What a node answered. */
export interface NodeAnswer {
  /** `payloadJSON` parsed where the node sent that, else what it sent. */
  readonly payload: unknown;
  readonly payloadJSON: string | null;
}

/** Nodes that are paired or connected. */
export interface Nodes {
  /** Connected ones first. */
  list(): Promise<readonly NodeView[]>;
  /** As the method `node.invoke`: through the command policy and, for `system.run`, the approvals. @throws GatewayError as it */
  invoke(invocation: NodeInvocation, invoker: NodeInvoker): Promise<NodeAnswer>;
  /** The policy file of a node, which no client may ask it for directly. @throws GatewayError `UNAVAILABLE` */
  policyFile(nodeId: string, change?: { readonly file: unknown; readonly baseHash?: string }): Promise<NodeAnswer>;
}

/** Nodes. Provided by the plugin `nodes`. */
export const Nodes = defineService<Nodes>()("nodes", "1.0.0");

/** An address of the canvas that works for a while. */
export interface CanvasCapability {
  readonly canvasCapability: string;
  /** epoch ms */
  readonly canvasCapabilityExpiresAtMs: number;
  readonly canvasHostUrl: string;
}

/** Serves the pages that nodes show. */
export interface CanvasHost {
  /** A new capability for this connection; its former one is dead. */
  issue(connectionId: string): CanvasCapability;
  /** Its connection has closed. */
  withdraw(connectionId: string): void;
}

/** The canvas. No plugin of the bundle provides it yet; `node.canvas.capability.refresh` says so then. */
export const CanvasHost = defineService<CanvasHost>()("canvas.host", "1.0.0");
