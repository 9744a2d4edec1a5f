/** Decides by the node's policy and by people whether a program may run on a node. Spec: protocol/clients.md §1 `nodes run`. */
import { randomUUID } from "node:crypto";
import { type ExecRules, judgeRun, rulesFor, withPrograms } from "@svc/kit/exec";
import { GatewayError, matches } from "@svc/sdk";
import {
  type BoundFile,
  execApproval,
  execApprovals,
  ExecPolicySnapshot,
  type SystemRunPlan,
} from "@svc/sdk/approvals";
import { visible } from "@svc/sdk/cli";
import type { Caller } from "./caller.ts";
import type { RunRequest } from "./request.ts";

/** A command that a node has prepared. */
export interface PreparedRun {
  readonly nodeId: string;
  readonly plan: SystemRunPlan;
  /** Text shown to people. */
  readonly cmdText: string;
  /** The following are optional; some node programs omit them. */
  readonly resolvedPath?: string;
  readonly home?: string;
  readonly root?: string;
  /** File contents that an approval binds. */
  readonly files?: readonly BoundFile[];
  readonly hidesScript?: boolean;
  readonly isSkillProgram?: boolean;
}

/** Params of `system.run` that name the run, and its approval if there is one. */
export interface Backing {
  readonly runId: string;
  readonly approved?: true;
  readonly approvalDecision?: "allow-once" | "allow-always";
}

/** Milliseconds that a response may take in addition to the timeout. */
export const GRACE_MS = 10_000;

/**
 * Requests an approval if the node's policy or the session requires one.
 * @param onAsked called with the id of the question
 * @param mustAsk the session requires an approval, whatever the policy says
 * @throws GatewayError `UNAVAILABLE`: denied by the node's policy or by a person, or nobody answered. Choice: silence is a no,
 * whatever the fallback of the policy; the gateway applies the same rule
 */
export async function permission(
  client: Caller,
  request: RunRequest,
  prepared: PreparedRun,
  onAsked: (id: string) => void,
  mustAsk = false,
): Promise<Backing> {
  const { nodeId } = prepared;
  const runId = randomUUID();
  const rules = mustAsk ? ASKED_BY_SESSION : await rulesOf(client, request, prepared);
  if (rules === undefined) return { runId };
  if (!request.wait) throw denied("an approval is required, and --no-wait was given", nodeId);

  const { decision } = await client.call(execApproval.request, question(runId, request, prepared, rules), {
    timeoutMs: request.askTimeoutMs + GRACE_MS,
    expectFinal: true,
    onAccepted: () => onAsked(runId),
  });
  if (decision === "deny") throw refused("the request was denied", "svc approvals list shows by whom");
  if (decision === null)
    throw refused("nobody answered, so the program did not run", "run it again and answer in time: svc approvals list");
  return { runId, approved: true, approvalDecision: decision };
}

/** Policy shown in a question that only the session requires. */
const ASKED_BY_SESSION = { security: "full", ask: "always" } as const;

/** The rules that require an approval; `undefined`: none is needed. @throws GatewayError `UNAVAILABLE`: the policy denies the program */
async function rulesOf(
  client: Caller,
  { env }: RunRequest,
  { nodeId, plan, resolvedPath, home, root, files = [], hidesScript = false, isSkillProgram = false }: PreparedRun,
): Promise<ExecRules | undefined> {
  const snapshot = await client.call(execApprovals.nodeGet, { nodeId });
  if (!matches(ExecPolicySnapshot, snapshot)) throw unknownForm("its policy file");
  const own = rulesFor(snapshot.file, plan.agentId);
  const rules = withPrograms(own, isSkillProgram && resolvedPath !== undefined ? [resolvedPath] : []);
  const contents = { scope: "all", files, hidesScript } as const;
  const known = { ...(home !== undefined && { home }), ...(root !== undefined && { root }) };
  const place = { ...known, contents, isElsewhere: true };
  const verdict = judgeRun(rules, plan, resolvedPath, Object.keys(env ?? {}), place);
  if (verdict.verdict === "deny") throw denied(verdict.reason, nodeId);
  return verdict.verdict === "allow" ? undefined : rules;
}

function question(
  id: string,
  { env, askTimeoutMs }: RunRequest,
  prepared: PreparedRun,
  { security, ask }: Pick<ExecRules, "security" | "ask">,
) {
  const { nodeId, plan, cmdText, resolvedPath, files } = prepared;
  const { argv, cwd, agentId, sessionKey } = plan;
  return {
    id,
    command: cmdText,
    commandArgv: argv,
    systemRunPlan: plan,
    ...(env === undefined ? {} : { env: { ...env } }),
    ...(files === undefined ? {} : { files: [...files] }),
    cwd,
    nodeId,
    host: "node",
    security,
    ask,
    agentId,
    sessionKey,
    resolvedPath: resolvedPath ?? null,
    timeoutMs: askTimeoutMs,
    twoPhase: true,
  };
}

/** A denial by the node's policy, which no approval overrides. */
export function denied(reason: string, nodeId: string): GatewayError {
  const node = visible(nodeId);
  return refused(
    `the node's policy denies it: ${visible(reason)}`,
    `svc approvals get --node ${node} shows its policy; to have people decide: svc approvals security allowlist --ask on-miss --node ${node}`,
  );
}

/** A response of a node of another version. @param what the unknown part */
export function unknownForm(what: string): GatewayError {
  return refused(`the node sent ${what} in an unknown format`, "update svc on the node");
}

function refused(why: string, next: string): GatewayError {
  return new GatewayError("UNAVAILABLE", `${why}\nNext: ${next}`);
}
