/** The `Nodes` service: runs commands on connected nodes. */
import type { NodeView } from "./contract.ts";
import type { Principal } from "../principal.ts";
import { defineService } from "../service.ts";

/** A command for a node. */
export interface NodeInvocation {
  readonly nodeId: string;
  readonly command: string;
  /** Sent as JSON; absent: no params. */
  readonly params?: unknown;
  /** Milliseconds; default 30000; 0 times out at once. */
  readonly timeoutMs?: number;
  readonly idempotencyKey?: string;
}

/** On whose behalf a command runs. */
export interface NodeInvoker {
  readonly principal: Principal;
  /** Device and connection of the caller, if any: an approval belongs to its requester. */
  readonly deviceId?: string;
  readonly connectionId?: string;
  readonly signal?: AbortSignal;
}

/** Result of a node command. */
export interface NodeAnswer {
  /** Parsed `payloadJSON` if the node sent it, otherwise `payload`. */
  readonly payload: unknown;
  readonly payloadJSON: string | null;
}

/** Whose browser `browser.request` uses: `gateway.nodes.browser`. Spec: protocol/methods-browser.md. */
export interface BrowserRouting {
  /** `auto`: the only connected node with a browser, if there is exactly one; `off`: never a node. */
  readonly mode: "auto" | "manual" | "off";
  /** Id, address, name, or first 6 or more characters of the id. */
  readonly node?: string;
}

/** Paired and connected nodes. */
export interface Nodes {
  /** Connected ones first. */
  list(): Promise<readonly NodeView[]>;
  /**
   * Same as the method `node.invoke`: checks the command policy and, for `system.run`, the approvals.
   * @throws GatewayError like `node.invoke`
   */
  invoke(invocation: NodeInvocation, invoker: NodeInvoker): Promise<NodeAnswer>;
  /**
   * Reads or replaces the policy file of a node, which no client can request directly.
   * @throws GatewayError `UNAVAILABLE`
   */
  policyFile(nodeId: string, change?: { readonly file: unknown; readonly baseHash?: string }): Promise<NodeAnswer>;
  /** The current setting. */
  browserRouting(): Promise<BrowserRouting>;
}

/** Token of the service. */
export const Nodes = defineService<Nodes>()("nodes", "1.0.0", {
  summary: "Runs commands on nodes. Provided by the plugin `nodes`; used by the plugins `approvals` and `browser`.",
});

/** A canvas URL that is valid for a limited time. */
export interface CanvasCapability {
  readonly canvasCapability: string;
  /** epoch ms */
  readonly canvasCapabilityExpiresAtMs: number;
  readonly canvasHostUrl: string;
}

/** Serves the pages that nodes display. */
export interface CanvasHost {
  /** Issues a new capability for this connection and invalidates its previous one. */
  issue(connectionId: string): CanvasCapability;
  /** Invalidates the capability of a connection that has closed. */
  withdraw(connectionId: string): void;
}

/** Token of the service. */
export const CanvasHost = defineService<CanvasHost>()("canvas.host", "1.0.0", {
  summary:
    "Serves canvas pages. No bundled plugin provides it yet; `node.canvas.capability.refresh` then reports that it is unavailable.",
});
