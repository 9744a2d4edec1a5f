/** Prepares and runs a program on a node, for callers over a connection and inside the gateway. */
import { randomUUID } from "node:crypto";
import { isGatewayError, matches, type Static, Type } from "@svc/sdk";
import { detailsCode } from "@svc/sdk/errors";
import { BoundFile, SystemRunPlan } from "@svc/sdk/approvals";
import { nodes } from "@svc/sdk/nodes";
import { present } from "../values.ts";
import type { Caller } from "./caller.ts";
import type { RunRequest } from "./request.ts";
import { type Backing, denied, GRACE_MS, type PreparedRun, unknownForm } from "./permission.ts";

const PREPARE_MS = 30_000;

const Prepared = Type.Object({
  cmdText: Type.String(),
  plan: SystemRunPlan,
  resolvedPath: Type.Optional(Type.String()),
  home: Type.Optional(Type.String()),
  files: Type.Optional(Type.Array(BoundFile)),
  hidesScript: Type.Optional(Type.Boolean()),
  root: Type.Optional(Type.String()),
  isSkillProgram: Type.Optional(Type.Boolean()),
});

/** Result of `system.run`. */
const Ended = Type.Object({
  exitCode: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  timedOut: Type.Optional(Type.Boolean()),
  success: Type.Optional(Type.Boolean()),
  stdout: Type.Optional(Type.String()),
  stderr: Type.Optional(Type.String()),
  error: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  truncated: Type.Optional(Type.Boolean()),
});
export type ProgramEnded = Static<typeof Ended>;

/** @throws GatewayError the node's refusal; `UNAVAILABLE`: a response in an unknown format */
export async function prepare(
  client: Caller,
  nodeId: string,
  request: Pick<RunRequest, "command" | "cwd" | "agentId" | "sessionKey">,
): Promise<PreparedRun> {
  const { command, cwd, agentId, sessionKey } = request;
  const params = { command, ...present({ cwd, agentId, sessionKey }) };
  const prepared = await invoke(client, nodeId, "system.run.prepare", params, PREPARE_MS);
  if (!matches(Prepared, prepared)) throw unknownForm("the prepared command");
  return { nodeId, ...prepared };
}

/** @throws GatewayError as `prepare`; a denial by the node's policy names the reason and the next step */
export async function run(
  client: Caller,
  { env, timeoutMs }: Pick<RunRequest, "env" | "timeoutMs">,
  { nodeId, plan }: PreparedRun,
  backing: Backing,
): Promise<ProgramEnded> {
  const { argv: command, rawCommand, cwd, agentId, sessionKey } = plan;
  const params = {
    command,
    ...present({ rawCommand, cwd, agentId, sessionKey }),
    ...(env === undefined ? {} : { env }),
    timeoutMs,
    ...backing,
  };
  const ended = await invoke(client, nodeId, "system.run", params, timeoutMs + GRACE_MS);
  if (!matches(Ended, ended)) throw unknownForm("the end of the program");
  return ended;
}

/**
 * Runs the program once it is allowed. If only the session requires an approval, it is requested after the first refusal.
 * @param allow returns the backing; `sessionAsks`: the refusal that requires an approval @throws GatewayError as `run`, and errors of `allow`
 */
export async function runAllowed(
  client: Caller,
  request: Pick<RunRequest, "env" | "timeoutMs">,
  prepared: PreparedRun,
  allow: (sessionAsks?: unknown) => Promise<Backing>,
): Promise<ProgramEnded> {
  const backing = await allow();
  try {
    return await run(client, request, prepared, backing);
  } catch (error) {
    if (backing.approved === true || detailsCode(error) !== "SESSION_ASKS") throw error;
    return run(client, request, prepared, await allow(error));
  }
}

async function invoke(
  client: Caller,
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
    const { nodeError } = Object(error.details) as { readonly nodeError?: Partial<Record<string, unknown>> };
    throw nodeError?.["code"] === "SYSTEM_RUN_DENIED" ? denied(String(nodeError["message"]), nodeId) : error;
  }
}
