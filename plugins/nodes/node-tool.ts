/** The tool `nodes`: an agent looks at nodes and asks them to do things, with the rights of whoever it works for. */
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

/** Milliseconds a node may take to answer. */
const MAX_TIMEOUT_MS = RUN_TIMEOUT_MS.most;

const said = (description: string) => Type.Optional(Type.String({ description }));

const Params = Strict({
  action: said("status, describe, pending, notify, location_get, camera_list, run, invoke"),
  node: said("its name or id, or how one of them begins; not for status and pending"),
  title: said("for notify"),
  body: said("for notify"),
  command: Type.Optional(
    Type.Array(Type.String(), { description: 'for run: the program and its arguments, e.g. ["ls","-l"]' }),
  ),
  cwd: said("for run: directory on the node"),
  env: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "for run: variables it gets" })),
  invokeCommand: said("for invoke: a command of the node, as describe shows them"),
  invokeParamsJson: said("for invoke: its params, as JSON"),
  timeoutMs: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_TIMEOUT_MS,
      description: "milliseconds it may take; default 30000, for run 120000",
    }),
  ),
});
type Params = Static<typeof Params>;

/** A call with who makes it; `caller` acts for them. */
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

/** @param callerFor calls methods of this gateway for somebody */
export function nodesTool(callerFor: (principal: Principal) => Caller): Tool {
  return defineTool({
    description:
      "Devices that lend what they can do: status lists them, describe shows what one can do, notify shows a note on it, run " +
      "runs a program on it, invoke asks it for any of its commands.",
    params: Params,
    // The least an action needs; each looks for its own.
    scope: "operator.read",
    effects: ({ action = "" }) => ACTIONS.get(action.trim())?.effects ?? ["reads"],
    brings: "node",
    async run(params, { call, principal, signal }) {
      const name = params.action?.trim() ?? "";
      if (name === "") return invalidRequest("action required");
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
  return told({ pending: waiting }, waiting.length === 0 ? "No node waits." : JSON.stringify(waiting));
}

async function notify(asked: Asked): Promise<ToolResult> {
  const { title = "", body = "" } = asked.params;
  if (title.trim() === "" && body.trim() === "") return invalidRequest("title required, or body");
  return ask(asked, "system.notify", { title, body });
}

async function invoke(asked: Asked): Promise<ToolResult> {
  const { invokeCommand = "", invokeParamsJson = "" } = asked.params;
  const command = invokeCommand.trim();
  if (command === "") return invalidRequest("invokeCommand required");
  // In whose name a program runs is not for the model to say.
  if (command.startsWith("system.run")) return invalidRequest("programs are run with the action run");
  return ask(asked, command, invokeParamsJson.trim() === "" ? undefined : json(invokeParamsJson));
}

async function program(asked: Asked): Promise<ToolResult> {
  const { params, call, signal, caller } = asked;
  const { command = [], cwd = "", env, timeoutMs = RUN_TIMEOUT_MS.default } = params;
  if (command.length === 0 || command[0] === "") return invalidRequest('command required, e.g. ["ls","-l"]');
  for (const name of Object.keys(env ?? {})) {
    const why = refusedVariable(name);
    if (why !== undefined) invalidRequest(`env: ${why}; leave it out`);
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

/** @returns what the node answered, as text from outside: a device passes on what others wrote */
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
  if (node.trim() === "") return invalidRequest("node required; the action status shows them");
  return resolveNode((await caller.call(nodes.list, {})).nodes, node);
}

function endedText(
  { exitCode, timedOut, stdout = "", stderr = "", error, truncated }: ProgramEnded,
  name: string,
): string {
  const end = timedOut === true ? "It ran out of time." : `Exit code: ${exitCode ?? "none"}`;
  const output = [stdout, stderr === "" ? "" : `[stderr]\n${stderr}`].filter((part) => part !== "").join("\n");
  const lines = [end, ...(error ? [error] : []), ...(truncated === true ? ["Some output is left out."] : [])];
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
    invalidRequest("a person decides that: svc nodes approve, svc devices reject");
  return invalidRequest(`there is no action "${name}" here; actions: ${[...ACTIONS.keys()].join(", ")}`);
}
