/**
 * `svc nodes run`: a program on a node, from the question whether it may run to its exit code.
 *
 * All on one connection: an approval belongs to whoever asked for it. Spec: protocol/clients.md §1 `nodes run`.
 */
import { randomUUID } from "node:crypto";
import { isGatewayError, matches, nodes, type Static, Type } from "@svc/sdk";
import type { GatewayClient } from "@svc/sdk/client";
import { askingWith, type CommandContext } from "@svc/sdk/cli";
import { SystemRunPlan } from "@svc/sdk/exec";
import { present } from "../values.ts";
import { findConnected } from "./find-node.ts";
import { readRunRequest, type RunRequest } from "./nodes-run-request.ts";
import { type Backing, denied, GRACE_MS, permission, type PreparedRun, unknownForm } from "./run-permission.ts";
import { visibleLines } from "./terminal-text.ts";

const SCOPES = ["operator.admin", "operator.read", "operator.write", "operator.approvals"];
const PREPARE_MS = 30_000;
const ask = askingWith({ plugin: "nodes", step: "svc nodes list" });

const Prepared = Type.Object({
  cmdText: Type.String(),
  plan: SystemRunPlan,
  resolvedPath: Type.Optional(Type.String()),
  home: Type.Optional(Type.String()),
});

const Ended = Type.Object({
  exitCode: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  timedOut: Type.Optional(Type.Boolean()),
  success: Type.Optional(Type.Boolean()),
  stdout: Type.Optional(Type.String()),
  stderr: Type.Optional(Type.String()),
  error: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  truncated: Type.Optional(Type.Boolean()),
});

/** @returns the program's exit code; 1 when it has none. @throws GatewayError it did not run, and why */
export async function nodesRun(context: CommandContext): Promise<number> {
  const request = readRunRequest(context);
  const work = async (client: GatewayClient) => {
    const { nodeId } = findConnected((await client.call(nodes.list, {})).nodes, request.node);
    const prepared = await prepare(client, nodeId, request);
    const backing = await permission(client, request, prepared, (id) =>
      context.note(`waiting for an approval: svc approvals allow ${id}`),
    );
    return run(client, request, prepared, backing);
  };
  return show(context, await ask(context, SCOPES, work));
}

async function prepare(client: GatewayClient, nodeId: string, request: RunRequest): Promise<PreparedRun> {
  const { command, cwd, agentId, sessionKey } = request;
  const params = { command, ...present({ cwd, agentId, sessionKey }) };
  const prepared = await invoke(client, nodeId, "system.run.prepare", params, PREPARE_MS);
  if (!matches(Prepared, prepared)) throw unknownForm("the prepared command");
  return { nodeId, ...prepared };
}

async function run(
  client: GatewayClient,
  { env, timeoutMs }: RunRequest,
  { nodeId, plan }: PreparedRun,
  backing: Backing,
): Promise<Static<typeof Ended>> {
  const { argv: command, rawCommand, cwd, agentId, sessionKey } = plan;
  const params = {
    command,
    ...present({ rawCommand, cwd, agentId, sessionKey }),
    ...(env === undefined ? {} : { env }),
    timeoutMs,
    ...backing,
  };
  const ended = await invoke(client, nodeId, "system.run", params, timeoutMs + GRACE_MS);
  if (!matches(Ended, ended)) throw unknownForm("how the program ended");
  return ended;
}

async function invoke(
  client: GatewayClient,
  nodeId: string,
  command: string,
  params: object,
  timeoutMs: number,
): Promise<unknown> {
  const invocation = { nodeId, command, params, timeoutMs, idempotencyKey: randomUUID() };
  try {
    return (await client.call(nodes.invoke, invocation, { timeoutMs: timeoutMs + GRACE_MS })).payload;
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    const [, reason] = /SYSTEM_RUN_DENIED: (.*)/.exec(error.message) ?? [];
    throw reason === undefined ? error : denied(reason, nodeId);
  }
}

/**
 * Output as it is where a program reads it; on a terminal, nothing in it is obeyed.
 * Choice: what `--json` means is read from the options, since the program may have an argument of that name.
 * @returns the exit code
 */
function show({ options, print, output, note }: CommandContext, ended: Static<typeof Ended>): number {
  const { exitCode, stdout = "", stderr = "", error, timedOut } = ended;
  if (options["json"] === true) print(ended);
  else {
    const isTerminal = "isTTY" in output && output.isTTY === true;
    output.write(isTerminal ? visibleLines(stdout) : stdout);
    if (stderr !== "") note(visibleLines(stderr).replace(/\n$/, ""));
    if (error) note(visibleLines(error));
    if (timedOut === true) note("Next: allow it more time with --timeout <ms>");
  }
  return typeof exitCode === "number" && timedOut !== true ? exitCode : 1;
}
