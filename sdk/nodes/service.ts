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
  summary:
    "Runs commands on nodes. Provided by the plugin `nodes`; used by the plugins `approvals`, `browser` and `canvas`.",
});
