/** Reads the arguments and options of `svc nodes ...`. Pure. */
import { GatewayError, invalidRequest, notFound } from "@svc/sdk";
import { visible } from "@svc/sdk/cli";
import type { NodeView } from "@svc/sdk/nodes";

/** Maximum timeout in milliseconds, one day. */
const MOST_TIMEOUT_MS = 86_400_000;

/**
 * Finds a node by its id or name, else by a unique prefix of one. Ignores case.
 * @throws GatewayError `NOT_FOUND`; `INVALID_REQUEST` listing the nodes that match
 */
export function resolveNode(nodes: readonly NodeView[], wanted: string): NodeView {
  const word = wanted.trim().toLowerCase();
  const names = ({ nodeId, displayName = "" }: NodeView) => [nodeId.toLowerCase(), displayName.trim().toLowerCase()];
  const fits: readonly ((node: NodeView) => boolean)[] = [
    (node) => names(node).includes(word),
    (node) => names(node).some((name) => name.startsWith(word)),
  ];
  for (const fit of word === "" ? [] : fits) {
    const found = nodes.filter(fit);
    if (found.length > 1) {
      const lines = found.map(({ nodeId, displayName = "-" }) => `  ${visible(nodeId)}  ${visible(displayName)}`);
      return invalidRequest(
        [`"${visible(wanted)}" matches ${found.length} nodes:`, ...lines, "Next: give the id of one"].join("\n"),
      );
    }
    if (found[0]) return found[0];
  }
  return notFound(`no node "${visible(wanted)}"\nNext: svc nodes list`);
}

/** As `resolveNode`, but the node must be connected. @throws GatewayError `UNAVAILABLE`: it is not connected */
export function findConnected(nodes: readonly NodeView[], wanted: string): NodeView {
  const node = resolveNode(nodes, wanted);
  if (node.connected) return node;
  const name = visible(node.displayName ?? node.nodeId);
  throw new GatewayError("UNAVAILABLE", `node "${name}" is not connected\nNext: start it on its machine: svc node run`);
}

/** @throws GatewayError `INVALID_REQUEST` with the reason */
export function readParams(text: unknown): { readonly params?: unknown } {
  if (typeof text !== "string") return {};
  try {
    return { params: JSON.parse(text) as unknown };
  } catch (error) {
    const why = error instanceof Error ? visible(error.message) : "";
    return invalidRequest(`--params is not JSON: ${why}\nNext: quote it for the shell, e.g. --params '{"title":"hi"}'`);
  }
}

/** Milliseconds. @throws GatewayError `INVALID_REQUEST` */
export function readTimeout(text: unknown): { readonly timeoutMs?: number } {
  if (typeof text !== "string") return {};
  const timeoutMs = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  return timeoutMs >= 0 && timeoutMs <= MOST_TIMEOUT_MS
    ? { timeoutMs }
    : invalidRequest(
        `--timeout takes milliseconds up to ${MOST_TIMEOUT_MS}, not "${visible(text)}"; e.g. --timeout 60000`,
      );
}
