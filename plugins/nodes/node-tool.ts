/** The tool `nodes`: lets an agent list and invoke nodes, with the rights of the person it works for. */
import { refusedVariable } from "@svc/kit/exec";
import {
  coversScope,
  GatewayError,
  invalidRequest,
  type Principal,
  type Scope,
  type Static,
  Strict,
  Type,
} from "@svc/sdk";
import { wrapExternalContent } from "@svc/sdk/external-content";
import { nodes, type NodeView } from "@svc/sdk/nodes";
import { defineTool, type Tool, type ToolCall, type ToolEffect, type ToolResult } from "@svc/sdk/tools";
import { resolveNode } from "./cli-input.ts";
import { listLines } from "./cli-text.ts";
import type { Caller } from "./remote-run/caller.ts";
import { RUN_TIMEOUT_MS } from "./remote-run/request.ts";
import type { ProgramEnded } from "./remote-run/run.ts";
import { runProgramOn } from "./remote-run/tool-run.ts";

/** Maximum timeout in milliseconds. */
const MAX_TIMEOUT_MS = RUN_TIMEOUT_MS.most;

const said = (description: string) => Type.Optional(Type.String({ description }));

const Params = Strict({
  action: said("status, describe, pending, notify, location_get, camera_list, run, invoke"),
  node: said("name or id of the node, or a prefix of one; not for status and pending"),
  title: said("for notify"),
  body: said("for notify"),
  command: Type.Optional(
    Type.Array(Type.String(), { description: 'for run: the program and its arguments, e.g. ["ls","-l"]' }),
  ),
  cwd: said("for run: directory on the node"),
  env: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "for run: environment variables" })),
  invokeCommand: said("for invoke: a command of the node, as listed by describe"),
  invokeParamsJson: said("for invoke: params of the command, as JSON"),
  timeoutMs: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_TIMEOUT_MS,
      description: "timeout in milliseconds; default 30000, for run 120000",
    }),
  ),
});
type Params = Static<typeof Params>;

/** A call of the tool; `caller` acts for its principal. */
interface Asked {
  readonly params: Params;
  readonly call: ToolCall;
  readonly signal: AbortSignal;
  readonly caller: Caller;
}

interface Action {
  readonly scope: Scope;
  readonly effects: readonly ToolEffect[];
  run(asked: Asked): Promise<ToolResult>;
}

const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  ["status", { scope: "operator.read", effects: ["reads"], run: status }],
  ["describe", { scope: "operator.read", effects: ["reads"], run: describe }],
  ["pending", { scope: "operator.pairing", effects: ["reads"], run: pending }],
  ["notify", { scope: "operator.write", effects: ["sends-out"], run: notify }],
  ["location_get", { scope: "operator.write", effects: ["reads"], run: (asked) => ask(asked, "location.get", {}) }],
  ["camera_list", { scope: "operator.write", effects: ["reads"], run: (asked) => ask(asked, "camera.list", {}) }],
  ["run", { scope: "operator.write", effects: ["runs-code"], run: program }],
  ["invoke", { scope: "operator.write", effects: ["runs-code"], run: invoke }],
]);

/** @param callerFor returns a caller of this gateway's methods that acts for a principal */
export function nodesTool(callerFor: (principal: Principal) => Caller): Tool {
  return defineTool({
    description:
      "Devices that share their capabilities: status lists them, describe shows what one can do, notify shows a notification on it, " +
      "run runs a program on it, invoke calls any of its commands.",
    params: Params,
    // The minimum; each action checks its own scope.
    scope: "operator.read",
    effects: ({ action = "" }) => ACTIONS.get(action.trim())?.effects ?? ["reads"],
    brings: "node",
    async run(params, { call, principal, signal }) {
      const name = params.action?.trim() ?? "";
      if (name === "") return invalidRequest("action is required");
      const action = ACTIONS.get(name) ?? refuseAction(name);
      if (!coversScope(principal.scopes, action.scope)) {
        throw new GatewayError("FORBIDDEN", `not allowed: the scope ${action.scope} is missing for ${name}`);
      }
      return action.run({ params, call, signal, caller: callerFor(principal) });
    },
  });
}

async function status({ caller }: Asked): Promise<ToolResult> {
  const listed = await caller.call(nodes.list, {});
  return told(listed, listLines(listed.nodes).join("\n"));
}

async function describe(asked: Asked): Promise<ToolResult> {
  const { nodeId } = await named(asked);
  const node = await asked.caller.call(nodes.describe, { nodeId });
  return told(node, JSON.stringify(node));
}

async function pending({ caller }: Asked): Promise<ToolResult> {
  const { pending: waiting } = await caller.call(nodes.pairList, {});
  return told({ pending: waiting }, waiting.length === 0 ? "No node waits for an approval." : JSON.stringify(waiting));
}

async function notify(asked: Asked): Promise<ToolResult> {
  const { title = "", body = "" } = asked.params;
  if (title.trim() === "" && body.trim() === "") return invalidRequest("title or body is required");
  return ask(asked, "system.notify", { title, body });
}

async function invoke(asked: Asked): Promise<ToolResult> {
  const { invokeCommand = "", invokeParamsJson = "" } = asked.params;
  const command = invokeCommand.trim();
  if (command === "") return invalidRequest("invokeCommand is required");
  // The model must not choose the agent and session for which a program runs.
  if (command.startsWith("system.run")) return invalidRequest("use the action run for programs");
  return ask(asked, command, invokeParamsJson.trim() === "" ? undefined : json(invokeParamsJson));
}

async function program(asked: Asked): Promise<ToolResult> {
  const { params, call, signal, caller } = asked;
  const { command = [], cwd = "", env, timeoutMs = RUN_TIMEOUT_MS.default } = params;
  if (command.length === 0 || command[0] === "") return invalidRequest('command is required, e.g. ["ls","-l"]');
  for (const name of Object.keys(env ?? {})) {
    const why = refusedVariable(name);
    if (why !== undefined) invalidRequest(`env: ${why}; omit it`);
  }
  const { nodeId, displayName = nodeId } = await named(asked);
  const request = {
    command,
    cwd: cwd.trim() === "" ? null : cwd,
    env: env !== undefined && Object.keys(env).length > 0 ? env : undefined,
    timeoutMs,
    askTimeoutMs: RUN_TIMEOUT_MS.default,
    agentId: call.agentId,
    sessionKey: call.sessionKey,
    wait: true,
  };
  const ended = await runProgramOn(caller, { nodeId, request, signal });
  const isError = ended.timedOut === true || (ended.exitCode ?? 1) !== 0;
  return { ...told({ nodeId, ...ended }, endedText(ended, displayName)), ...(isError ? { isError } : {}) };
}

/** @returns the node's response as external content, since a device forwards texts of others */
async function ask(asked: Asked, command: string, params: unknown): Promise<ToolResult> {
  const { caller, call } = asked;
  const { nodeId, displayName = nodeId } = await named(asked);
  const { timeoutMs } = asked.params;
  const answer = await caller.call(nodes.invoke, {
    nodeId,
    command,
    ...(params === undefined ? {} : { params }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    idempotencyKey: `${call.runId}:${call.toolCallId}`,
  });
  const { payload } = answer;
  if (payload === undefined || payload === null) return told(answer, "Done.");
  return told(answer, fromNode(typeof payload === "string" ? payload : JSON.stringify(payload), displayName));
}

/** @throws GatewayError `INVALID_REQUEST` without a node, `NOT_FOUND` */
async function named({ params: { node = "" }, caller }: Asked): Promise<NodeView> {
  if (node.trim() === "") return invalidRequest("node is required; the action status lists them");
  return resolveNode((await caller.call(nodes.list, {})).nodes, node);
}

function endedText(
  { exitCode, timedOut, stdout = "", stderr = "", error, truncated }: ProgramEnded,
  name: string,
): string {
  const end = timedOut === true ? "The program timed out." : `Exit code: ${exitCode ?? "none"}`;
  const output = [stdout, stderr === "" ? "" : `[stderr]\n${stderr}`].filter((part) => part !== "").join("\n");
  const lines = [end, ...(error ? [error] : []), ...(truncated === true ? ["Some output was left out."] : [])];
  return [...lines, output === "" ? "No output." : fromNode(output, name)].join("\n");
}

function fromNode(text: string, name: string): string {
  return wrapExternalContent(text, { source: "external", from: `node ${name}` });
}

function told(details: object, text: string): ToolResult {
  return { content: [{ type: "text", text }], details };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return invalidRequest("invokeParamsJson is not JSON");
  }
}

function refuseAction(name: string): never {
  if (name === "approve" || name === "reject")
    invalidRequest("only people can decide that: svc nodes approve, svc devices reject");
  return invalidRequest(`unknown action "${name}"; actions: ${[...ACTIONS.keys()].join(", ")}`);
}
