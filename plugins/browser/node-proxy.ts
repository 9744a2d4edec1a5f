/** The browser of a node, through its command `browser.proxy`. Spec: protocol/methods-browser.md. */
import { type Clock, unavailable } from "@svc/sdk";
import type { NodeInvoker, Nodes } from "@svc/sdk/nodes";
import { join } from "node:path";
import type { ControlCall } from "./control.ts";
import { createFileStore, type FileStore, MAX_BYTES } from "./files.ts";

/** A checked call. */
export interface ProxyCall extends Pick<ControlCall, "method" | "path" | "query" | "body"> {
  readonly timeoutMs?: number;
}

/** Calls a route of a node. */
export type CallNode = (call: ProxyCall, nodeId: string, nodes: Nodes, invoker: NodeInvoker) => Promise<unknown>;

const COMMAND = "browser.proxy";
const MAX_FILES = 20;
/** Milliseconds that the node has in addition, so that its own error arrives. */
const MARGIN_MS = 2_000;

/** `callNode` with the files of the plugin's directory. */
export function nodeCaller(stateDir: string, clock: Pick<Clock, "now">): CallNode {
  const files = createFileStore(join(stateDir, "files"), clock);
  return (call, nodeId, nodes, invoker) => callNode(call, { nodeId, nodes, invoker, files });
}

/** @returns the result of the node's route; paths of files in it are those of the stored copies */
export async function callNode(
  { method, path, query, body, timeoutMs }: ProxyCall,
  place: { readonly nodeId: string; readonly nodes: Nodes; readonly invoker: NodeInvoker; readonly files: FileStore },
): Promise<unknown> {
  const profile = textOf(query["profile"]) ?? textOf(Object(body)["profile"]);
  const params = { method, path, query, body, timeoutMs, ...(profile ? { profile } : {}) };
  const wait = timeoutMs === undefined ? {} : { timeoutMs: timeoutMs + MARGIN_MS };
  const { nodeId, nodes, invoker, files } = place;
  const { payload } = await nodes.invoke({ nodeId, command: COMMAND, params, ...wait }, invoker);
  if (typeof payload !== "object" || payload === null || !("result" in payload))
    return unavailable(`node ${nodeId} answered ${COMMAND} without a result`);
  const sent: unknown = "files" in payload ? payload.files : undefined;
  const stored = await store(Array.isArray(sent) ? sent : [], nodeId, files);
  return rewritten(payload.result, stored);
}

/** The new path of each file, by the node's path. @throws GatewayError `UNAVAILABLE` for files beyond the limits */
async function store(sent: readonly unknown[], nodeId: string, files: FileStore): Promise<Map<string, string>> {
  const stored = new Map<string, string>();
  if (sent.length > MAX_FILES) unavailable(`node ${nodeId} sent ${sent.length} files; at most ${MAX_FILES} are stored`);
  let total = 0;
  for (const file of sent) {
    const { path, base64 } = Object(file) as { readonly path?: unknown; readonly base64?: unknown };
    if (typeof path !== "string" || typeof base64 !== "string") continue;
    total += base64.length;
    if (total > MAX_BYTES * 1.4) unavailable(`node ${nodeId} sent files of more than ${MAX_BYTES} bytes`);
    stored.set(path, (await files.save(path, Buffer.from(base64, "base64"))).path);
  }
  return stored;
}

function rewritten(value: unknown, paths: ReadonlyMap<string, string>): unknown {
  if (paths.size === 0) return value;
  if (typeof value === "string") return paths.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => rewritten(item, paths));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rewritten(inner, paths)]));
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}
