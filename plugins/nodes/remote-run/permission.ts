/** Whether a program may run on a node, as its policy and people say. Spec: protocol/clients.md §1 `nodes run`. */
import { randomUUID } from "node:crypto";
import { type ExecRules, judgeRun, rulesFor } from "@svc/kit/exec";
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
  /** What people are shown. */
  readonly cmdText: string;
  /** Other nodes may leave these out. */
  readonly resolvedPath?: string;
  readonly home?: string;
  readonly root?: string;
  /** Contents that an approval is for. */
  readonly files?: readonly BoundFile[];
  readonly hidesScript?: boolean;
}

/** What comes along with `system.run`: nothing, or the approval that backs it. */
export interface Backing {
  readonly runId: string;
  readonly approved?: true;
  readonly approvalDecision?: "allow-once" | "allow-always";
}

/** Milliseconds that an answer may take beyond the time that was given. */
export const GRACE_MS = 10_000;

/**
 * Asks for an approval where the node's policy wants one, or the session does.
 * @param onAsked gets the id of the question
 * @param mustAsk the session wants people asked, whatever the policy says
 * @throws GatewayError `UNAVAILABLE`: the node's policy denies it, somebody did, or nobody answered. Choice: silence is a no, whatever
 * the policy's fallback says; the gateway holds it so, too
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
  if (!request.wait) throw denied("approval required, and --no-wait was given", nodeId);

  const { decision } = await client.call(execApproval.request, question(runId, request, prepared, rules), {
    timeoutMs: request.askTimeoutMs + GRACE_MS,
    expectFinal: true,
    onAccepted: () => onAsked(runId),
  });
  if (decision === "deny") throw refused("somebody denied it", "svc approvals list says who");
  if (decision === null)
    throw refused("nobody answered, and it did not run", "run it again, and answer meanwhile: svc approvals list");
  return { runId, approved: true, approvalDecision: decision };
}

/** What the question says of itself where the session asks: the policy of the node does not want it. */
const ASKED_BY_SESSION = { security: "full", ask: "always" } as const;

/** The rules by which people have to be asked; `undefined`: nobody has to be. @throws GatewayError `UNAVAILABLE`: it is denied */
async function rulesOf(
  client: Caller,
  { env }: RunRequest,
  { nodeId, plan, resolvedPath, home, root, files = [], hidesScript = false }: PreparedRun,
): Promise<ExecRules | undefined> {
  const snapshot = await client.call(execApprovals.nodeGet, { nodeId });
  if (!matches(ExecPolicySnapshot, snapshot)) throw unknownForm("its policy file");
  const rules = rulesFor(snapshot.file, plan.agentId);
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

/** The node's own word, which no approval changes. */
export function denied(reason: string, nodeId: string): GatewayError {
  const node = visible(nodeId);
  return refused(
    `the node's policy denies it: ${visible(reason)}`,
    `svc approvals get --node ${node} shows its policy; to have people decide: svc approvals security allowlist --ask on-miss --node ${node}`,
  );
}

/** A node of another version. @param what of it is not known here */
export function unknownForm(what: string): GatewayError {
  return refused(`the node sent ${what} in a form that is not known here`, "update svc on the node");
}

function refused(why: string, next: string): GatewayError {
  return new GatewayError("UNAVAILABLE", `${why}\nNext: ${next}`);
}
