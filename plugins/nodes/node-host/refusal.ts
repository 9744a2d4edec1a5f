/** Refusals of a node: a code and a message, which the gateway forwards as `<CODE>: <message>`. Spec: protocol/methods-node.md §2. */
import { isGatewayError } from "@svc/sdk";

/** Codes of this node. Choice: all except `SYSTEM_RUN_DENIED`, which clients know. */
export type NodeRefusalCode = "INVALID_REQUEST" | "UNAVAILABLE" | "BUSY" | "SYSTEM_RUN_DENIED" | "INTERNAL";

/** A refusal that is sent to the gateway. Any other error becomes `INTERNAL` without details. */
export class NodeRefusal extends Error {
  override readonly name = "NodeRefusal";
  readonly code: NodeRefusalCode;

  constructor(code: NodeRefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The `error` of a `node.invoke.result`. */
export function toNodeError(thrown: unknown): { code: NodeRefusalCode; message: string } {
  if (thrown instanceof NodeRefusal) return { code: thrown.code, message: thrown.message };
  if (!isGatewayError(thrown))
    return { code: "INTERNAL", message: "internal error on the node; the output of svc node run has the reason" };
  return { code: thrown.code === "INVALID_REQUEST" ? "INVALID_REQUEST" : "UNAVAILABLE", message: thrown.message };
}
