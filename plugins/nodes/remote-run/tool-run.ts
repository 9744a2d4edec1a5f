/** What the tool `nodes` does with a program: the approvals have their say where the caller may ask them, and the node always. */
import { randomUUID } from "node:crypto";
import { type DetailCode, detailsCode } from "@svc/sdk/errors";
import type { Caller } from "./caller.ts";
import type { RunRequest } from "./request.ts";
import { prepare, type ProgramEnded, runAllowed } from "./run.ts";
import { type Backing, permission, type PreparedRun } from "./permission.ts";

export interface ProgramAsked {
  readonly nodeId: string;
  readonly request: Omit<RunRequest, "node">;
  readonly signal: AbortSignal;
}

/**
 * Runs a program on a node. People are asked for who may ask them; for anybody else it runs where the node's own policy allows
 * it without a question.
 * @throws GatewayError it did not run, and why
 */
export async function runProgramOn(caller: Caller, asked: ProgramAsked): Promise<ProgramEnded> {
  const { nodeId, request, signal } = asked;
  const prepared = await prepare(caller, nodeId, request);
  return runAllowed(caller, request, prepared, async (sessionAsks) => {
    const backing = await allowed(caller, { ...request, node: nodeId }, prepared, sessionAsks);
    signal.throwIfAborted(); // an answer may have come too late
    return backing;
  });
}

const HIDDEN: ReadonlySet<DetailCode> = new Set([
  "UNKNOWN_METHOD",
  "MISSING_SCOPE",
  "NO_POLICY_FILE",
  "COMMAND_NOT_DECLARED",
]);

/**
 * Without a policy that can be looked at, the node alone decides: its own one, whoever keeps no approvals here, and a caller who
 * may not see it (it takes `operator.admin`). Where the session wants people asked, a caller who may not ask them runs nothing.
 */
async function allowed(
  caller: Caller,
  request: RunRequest,
  prepared: PreparedRun,
  sessionAsks: unknown,
): Promise<Backing> {
  try {
    return await permission(caller, request, prepared, () => undefined, sessionAsks !== undefined);
  } catch (error) {
    const code = detailsCode(error);
    if (code === undefined || !HIDDEN.has(code)) throw error;
    if (sessionAsks !== undefined) throw sessionAsks; // it names the setting, and what changes it
    return { runId: randomUUID() };
  }
}
