/** `browser.request`: checks the call, and sends it to the browser of a node or of this machine. Spec: protocol/methods-browser.md. */
import { GatewayError, invalidRequest, isGatewayError, type Principal, unavailable } from "@svc/sdk";
import type { NodeInvoker, Nodes } from "@svc/sdk/nodes";
import type { Control, ControlCall } from "./control.ts";
import type { CallNode, ProxyCall } from "./node-proxy.ts";

/** Who calls: `caller` for the browser of this machine, the rest for a node. */
export interface Asker extends Pick<ControlCall, "caller" | "signal"> {
  readonly principal: Principal;
  readonly connection?: Pick<NodeInvoker, "connectionId" | "deviceId">;
}

export interface RequestDeps {
  /** `browser.enabled`; does not concern browsers of nodes. */
  readonly enabled: boolean;
  readonly control: () => Promise<Control>;
  readonly nodes: () => Nodes | undefined;
  readonly proxy: () => Promise<CallNode>;
}

/** A call with unchecked values. */
export interface RequestParams {
  readonly method?: unknown;
  readonly path?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
  readonly timeoutMs?: unknown;
}

export interface Answered {
  /** JSON of the route. */
  readonly result: unknown;
  /** Id of the node that answered; absent: this machine. */
  readonly nodeId?: string;
}

export type RequestBrowser = (params: RequestParams, asker: Asker) => Promise<Answered>;

const METHODS = ["GET", "POST", "DELETE"] as const;

export function createRequest({ enabled, control, nodes, proxy }: RequestDeps): RequestBrowser {
  return async (params, asker) => {
    const call = read(params);
    const service = nodes();
    const nodeId = service && (await nodeFor(service));
    const { principal, connection = {}, signal } = asker;
    if (service && nodeId !== undefined)
      return { nodeId, result: await (await proxy())(call, nodeId, service, { principal, signal, ...connection }) };
    if (!enabled) unavailable("browser control is disabled; to enable it: svc config set browser.enabled true");
    const { method, path, query, body } = call;
    try {
      return { result: await (await control()).call({ method, path, query, body, caller: asker.caller, signal }) };
    } catch (error) {
      throw isGatewayError(error) ? asRouteError(error) : error;
    }
  };
}

/** @throws GatewayError `INVALID_REQUEST` */
function read({ method, path, query, body, timeoutMs }: RequestParams): ProxyCall {
  const verb = typeof method === "string" ? method.trim().toUpperCase() : "";
  const known = METHODS.find((one) => one === verb);
  const route = typeof path === "string" ? path.trim() : "";
  if (verb === "" || route === "") invalidRequest("method and path are required, e.g. GET /tabs");
  if (known === undefined) invalidRequest("method must be GET, POST or DELETE");
  const isObject = typeof query === "object" && query !== null && !Array.isArray(query);
  const ms = typeof timeoutMs === "number" && timeoutMs >= 1 ? { timeoutMs: Math.floor(timeoutMs) } : {};
  return {
    method: known,
    path: route.startsWith("/") ? route : `/${route}`,
    query: isObject ? (query as Record<string, unknown>) : {},
    body,
    ...ms,
  };
}

/** A route's 4xx is `INVALID_REQUEST`, everything else `UNAVAILABLE`; the details are the body of the route. */
function asRouteError(error: GatewayError): GatewayError {
  const { code, message, details, retryAfterMs } = error;
  const isCaller = code === "INVALID_REQUEST" || code === "NOT_FOUND" || code === "CONFLICT";
  return new GatewayError(isCaller ? "INVALID_REQUEST" : "UNAVAILABLE", message, {
    details: { ...Object(details), error: message },
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    cause: error,
  });
}

/**
 * The node whose browser is used; `undefined`: the browser of this machine.
 * @throws GatewayError `UNAVAILABLE`: the configured node is not connected, or several match
 */
async function nodeFor(nodes: Nodes): Promise<string | undefined> {
  const { mode, node } = await nodes.browserRouting();
  if (mode === "off" || (mode === "manual" && node === undefined)) return undefined;
  const capable = (await nodes.list()).filter(
    ({ connected, caps, commands }) => connected && (caps.includes("browser") || commands.includes("browser.proxy")),
  );
  if (node === undefined) return capable.length === 1 ? capable[0]?.nodeId : undefined;
  const wanted = plainName(node);
  const exact = capable.filter(({ nodeId, remoteIp }) => nodeId === node || remoteIp === node);
  const named =
    exact.length > 0
      ? exact
      : capable.filter(({ displayName }) => wanted !== "" && plainName(displayName ?? "") === wanted);
  const found = named.length > 0 ? named : capable.filter(({ nodeId }) => node.length >= 6 && nodeId.startsWith(node));
  if (found.length > 1)
    unavailable(`gateway.nodes.browser.node "${node}" means several nodes; set the id of one: svc nodes list`);
  return (
    found[0]?.nodeId ??
    unavailable(
      `the node "${node}" of gateway.nodes.browser.node is not connected, or has no browser; see: svc nodes list`,
    )
  );
}

/** Letters and digits, without case: `Anna's Mac` is `anna-s-mac`. */
function plainName(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
}
