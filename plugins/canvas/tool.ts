/** The tool `canvas`: displays pages on a node and reads what it shows, with the rights of the person the agent works for. */
import { sniffImage } from "@svc/kit/media";
import { invalidRequest, type Live, outsideOrigin, type Static, Strict, Type, unavailable } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import { wrapExternalContent } from "@svc/sdk/external-content";
import type { Nodes, NodeView } from "@svc/sdk/nodes";
import { defineTool, type Tool, type ToolContext, type ToolEffect, type ToolResult } from "@svc/sdk/tools";

/** Choice: maximum characters of a script, of messages, and of a result that the model sees. */
const MAX_TEXT = 200_000;
const MAX_RESULT = 50_000;
/** Choice: maximum characters of a picture in base64, about 6 MB. */
const MAX_PICTURE = 8_000_000;

const text = (description: string, maxLength = 4_096) => Type.Optional(Type.String({ description, maxLength }));
const size = (description: string) => Type.Optional(Type.Integer({ description, minimum: -10_000, maximum: 10_000 }));

const Params = Strict({
  action: Type.String({
    maxLength: 40,
    description: "present, hide, navigate, eval, snapshot, a2ui_push, a2ui_reset",
  }),
  node: text("name or id of the node, or a prefix of one; default: the only connected node with a canvas", 200),
  page: text("for present and navigate: a file of the canvas directory of the gateway, e.g. /chart.html"),
  url: text("for present and navigate: any other address"),
  x: size("for present: left edge"),
  y: size("for present: top edge"),
  width: size("for present: width"),
  height: size("for present: height"),
  javaScript: text("for eval: the script", MAX_TEXT),
  format: Type.Optional(Type.Enum(["png", "jpeg"], { description: "for snapshot; default png" })),
  maxWidth: Type.Optional(Type.Integer({ minimum: 1, maximum: 8_192, description: "for snapshot: pixels" })),
  quality: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: "for snapshot in jpeg" })),
  jsonl: text("for a2ui_push: A2UI messages, one JSON object a line", MAX_TEXT),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 120_000, description: "milliseconds; default 30000" })),
});
type Params = Static<typeof Params>;

export interface CanvasToolParts {
  readonly nodes: Live<Nodes>;
  /** Address of a page for a node; `undefined`: the node is not connected. @throws GatewayError no pages are served */
  readonly pageUrl: (nodeId: string, page: string) => string | undefined;
}

/** What an action sends to the node. */
interface Sent {
  readonly command: string;
  readonly params: Readonly<Record<string, unknown>>;
}

interface Action {
  readonly effects: readonly ToolEffect[];
  /** @throws GatewayError `INVALID_REQUEST` naming the param */
  sent(params: Params, address: () => string | undefined, node: NodeView): Sent;
}

const bare = (command: string) => () => ({ command, params: {} });

const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ["present", { effects: ["sends-out"], sent: presented }],
  ["hide", { effects: ["sends-out"], sent: bare("canvas.hide") }],
  ["navigate", { effects: ["sends-out"], sent: navigated }],
  ["eval", { effects: ["runs-code"], sent: evaluated }],
  ["snapshot", { effects: ["reads"], sent: pictured }],
  ["a2ui_push", { effects: ["sends-out"], sent: pushed }],
  ["a2ui_reset", { effects: ["sends-out"], sent: bare("canvas.a2ui.reset") }],
]);

export function canvasTool({ nodes, pageUrl }: CanvasToolParts): Tool {
  return defineTool({
    label: "Canvas",
    description:
      "The canvas of a node, e.g. a phone: present shows it with a page, navigate loads another page, eval runs a script in " +
      "the page, snapshot returns a picture of it, a2ui_push shows A2UI messages, a2ui_reset removes them, hide closes it.",
    params: Params,
    scope: "operator.write",
    effects: ({ action }) => ACTIONS.get(action.trim())?.effects ?? ["reads"],
    brings: "node",
    async run(params, context) {
      const action = ACTIONS.get(params.action.trim());
      if (!action) return invalidRequest(`unknown action; actions: ${[...ACTIONS.keys()].join(", ")}`);
      const service = nodes.get();
      if (!service) return unavailable("no running plugin provides nodes; see `svc plugins why nodes`");
      const node = chosen(await service.list(), params.node ?? "");
      const sent = action.sent(params, () => addressOf(params, node, pageUrl), node);
      const payload = await invoke(service, node, sent, params, context);
      return sent.command === "canvas.snapshot" ? picture(payload, node) : told(payload, node);
    },
  });
}

async function invoke(
  service: Nodes,
  { nodeId }: NodeView,
  { command, params }: Sent,
  { timeoutMs }: Params,
  { call, principal, signal }: ToolContext,
): Promise<unknown> {
  const idempotencyKey = `${call.runId}:${call.toolCallId}`;
  const invocation = { nodeId, command, params, idempotencyKey, ...(timeoutMs !== undefined && { timeoutMs }) };
  return (await service.invoke(invocation, { principal, signal })).payload;
}

/** @throws GatewayError `INVALID_REQUEST` naming the candidates */
function chosen(all: readonly NodeView[], wanted: string): NodeView {
  const withCanvas = all.filter(({ connected, commands }) => connected && commands.some(isOfCanvas));
  const name = wanted.trim().toLowerCase();
  const exact = all.filter((node) => isNamed(node, name, (own) => own === name));
  const found =
    name === ""
      ? withCanvas
      : exact.length > 0
        ? exact
        : all.filter((node) => isNamed(node, name, (own) => own.startsWith(name)));
  const [node, ...others] = found;
  if (node && others.length === 0) return node;
  const names = (node ? found : withCanvas).map(nameOf);
  const known = names.length === 0 ? "no connected node has a canvas" : `node must be one of: ${names.join(", ")}`;
  return invalidRequest(node ? `several nodes match; ${known}` : known);
}

const isOfCanvas = (command: string) => command.startsWith("canvas.");

function isNamed({ nodeId, displayName = "" }: NodeView, name: string, is: (own: string) => boolean): boolean {
  return name !== "" && (is(nodeId) || is(displayName.toLowerCase()));
}

/** The address of `page` or `url`; `undefined`: neither is given. */
function addressOf({ page = "", url = "" }: Params, node: NodeView, pageUrl: CanvasToolParts["pageUrl"]) {
  if (page.trim() !== "" && url.trim() !== "") return invalidRequest("page and url exclude each other");
  if (page.trim() === "") return url.trim() === "" ? undefined : url.trim();
  const path = `/${page.trim().replace(/^\/+/, "")}`;
  return pageUrl(node.nodeId, path) ?? unavailable("the node is not connected; see: svc nodes list");
}

function presented({ x, y, width, height }: Params, address: () => string | undefined): Sent {
  const placement = present({ x, y, width, height });
  const url = address();
  const hasPlacement = Object.keys(placement).length > 0;
  return { command: "canvas.present", params: present({ url, placement: hasPlacement ? placement : undefined }) };
}

function navigated(_: Params, address: () => string | undefined): Sent {
  return { command: "canvas.navigate", params: { url: address() ?? invalidRequest("page or url is required") } };
}

function evaluated({ javaScript = "" }: Params): Sent {
  if (javaScript.trim() === "") invalidRequest("javaScript is required");
  return { command: "canvas.eval", params: { javaScript } };
}

function pictured({ format = "png", maxWidth, quality }: Params): Sent {
  return { command: "canvas.snapshot", params: present({ format, maxWidth, quality }) };
}

/** Without values that are `undefined`. */
function present(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** A node that reads messages gets them as they are, any other one as lines. */
function pushed({ jsonl = "" }: Params, _: unknown, { commands }: NodeView): Sent {
  const lines = jsonl.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0) return invalidRequest("jsonl is required: A2UI messages, one JSON object a line");
  const messages = lines.map(
    (line, index) => objectIn(line) ?? invalidRequest(`jsonl: line ${index + 1} is not a JSON object`),
  );
  return commands.includes("canvas.a2ui.push")
    ? { command: "canvas.a2ui.push", params: { messages } }
    : { command: "canvas.a2ui.pushJSONL", params: { jsonl: lines.join("\n") } };
}

function objectIn(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function nameOf({ displayName, nodeId }: NodeView): string {
  return displayName ?? nodeId.slice(0, 12);
}

function told(payload: unknown, node: NodeView): ToolResult {
  const origin = outsideOrigin("node", nameOf(node));
  if (payload === undefined || payload === null) return { content: [{ type: "text", text: "Done." }], origin };
  const shown = cut(typeof payload === "string" ? payload : JSON.stringify(payload), MAX_RESULT);
  const wrapped = wrapExternalContent(shown, { source: "external", from: `node ${nameOf(node)}` });
  return { content: [{ type: "text", text: wrapped }], details: { nodeId: node.nodeId }, origin };
}

/** @throws GatewayError `UNAVAILABLE`: the node returned no picture */
function picture(payload: unknown, node: NodeView): ToolResult {
  const { base64: given } = Object(payload) as { readonly base64?: unknown };
  const data = typeof given === "string" && given.length <= MAX_PICTURE ? given.replace(/\s+/g, "") : "";
  const isBase64 = data !== "" && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
  const mimeType = isBase64 ? sniffImage(Buffer.from(data.slice(0, 64), "base64")) : undefined;
  if (mimeType === undefined) {
    return unavailable(
      `the node ${nameOf(node)} returned no picture of at most ${MAX_PICTURE} base64 characters; ask for a smaller maxWidth`,
    );
  }
  const { nodeId } = node;
  return {
    content: [
      { type: "text", text: `Canvas of ${nameOf(node)}:` },
      { type: "image", data, mimeType },
    ],
    details: { nodeId, mimeType },
    origin: outsideOrigin("node", nameOf(node)),
  };
}
