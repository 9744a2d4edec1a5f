/** Runs a program for the tool `nodes`. The node's policy always applies; approvals are requested if the caller may do so. */
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
 * Runs a program on a node. If the caller may request approvals, people are asked; otherwise it runs only if the node's own
 * policy allows it without a question.
 * @throws GatewayError the reason why it did not run
 */
export async function runProgramOn(caller: Caller, asked: ProgramAsked): Promise<ProgramEnded> {
  const { nodeId, request, signal } = asked;
  const prepared = await prepare(caller, nodeId, request);
  return runAllowed(caller, request, prepared, async (sessionAsks) => {
    const backing = await allowed(caller, { ...request, node: nodeId }, prepared, sessionAsks);
    signal.throwIfAborted(); // the run may have been stopped while waiting
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
 * If the policy cannot be read, only the node decides: when the node has no policy file, when this gateway has no approvals,
 * and when the caller lacks `operator.admin`. If the session requires an approval, a caller that may not request one runs nothing.
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
    if (sessionAsks !== undefined) throw sessionAsks; // names the setting and how to change it
    return { runId: randomUUID() };
  }
}
