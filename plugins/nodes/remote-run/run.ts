/** Running a program on a node: preparing it, and running what was prepared. For whoever asks, over a connection or within the gateway. */
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
});

/** How a program ended, as the node says. */
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

/** @throws GatewayError what the node refuses with; `UNAVAILABLE`: it answers in a form that is not known */
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

/** @throws GatewayError as `prepare`, and in plain words where the node's policy denies it */
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
  if (!matches(Ended, ended)) throw unknownForm("how the program ended");
  return ended;
}

/**
 * Runs it once it is allowed; where the session wants people asked and the node does not, they are asked then.
 * @param allow what backs it; `sessionAsks`: the refusal, where it takes a person's yes @throws GatewayError as `run`, and what `allow` throws
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
