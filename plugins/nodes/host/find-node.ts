/** Which node a program shall run on. Pure. */
import { GatewayError } from "@svc/sdk";
import { visible } from "@svc/sdk/cli";
import type { NodeView } from "@svc/sdk/nodes";
import { resolveNode } from "../cli-input.ts";

/** @throws GatewayError `NOT_FOUND`; `INVALID_REQUEST`: several fit; `UNAVAILABLE`: it is not connected */
export function findConnected(nodes: readonly NodeView[], wanted: string): NodeView {
  const node = resolveNode(nodes, wanted);
  if (node.connected) return node;
  const name = visible(node.displayName ?? node.nodeId);
  throw new GatewayError("UNAVAILABLE", `node "${name}" is not connected\nNext: start it on its machine: svc node run`);
}
