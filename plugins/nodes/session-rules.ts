/**
 * Applies session settings to programs on nodes, in addition to the node's own policy. The gateway judges every `system.run`
 * that names a session: of the tool, of `svc nodes run` and of every other client. The settings only narrow.
 */
import {
  type ExecRules,
  judgeRun,
  judgeSession,
  limitsOf,
  placeRefusal,
  rulesFor,
  type SessionLimits,
  withPrograms,
} from "@svc/kit/exec";
import { GatewayError, type Live, matches, Type } from "@svc/sdk";
import { ExecPolicySnapshot } from "@svc/sdk/approvals";
import { refusal } from "@svc/sdk/errors";
import type { Sessions } from "@svc/sdk/sessions";
import { planOf, type RunParams } from "./run-params.ts";

/** A program that a session wants to run on a node. */
export interface SessionRun {
  readonly nodeId: string;
  readonly params: RunParams;
  /** The node's response to `system.run.prepare`; `undefined`: not supported. */
  readonly prepared: unknown;
  /** The node's policy file; `undefined`: it has none. */
  readonly policy: unknown;
}

const Prepared = Type.Object({
  plan: Type.Object({ cwd: Type.Optional(Type.Union([Type.String(), Type.Null()])) }),
  resolvedPath: Type.Optional(Type.String()),
  home: Type.Optional(Type.String()),
  root: Type.Optional(Type.String()),
  isSkillProgram: Type.Optional(Type.Boolean()),
});

/** Rules for a node without a policy file: no allowlist is known here, so every program is a miss. */
const BY_THE_NODE: ExecRules = { security: "full", ask: "off", askFallback: "deny", allowlist: [] };

/**
 * Limits for programs of a session on this node; empty: none.
 * @throws GatewayError `FORBIDDEN`: the session allows no programs on this node; `UNAVAILABLE`: no plugin provides sessions
 */
export async function sessionLimitsOn(
  nodeId: string,
  sessionKey: unknown,
  sessions: Live<Sessions>,
): Promise<readonly SessionLimits[]> {
  if (typeof sessionKey !== "string" || sessionKey.trim() === "") return [];
  const limits = await limitsOf(sessions.get(), sessionKey);
  for (const one of limits) {
    const refused = placeRefusal(one, { kind: "node", nodeId });
    if (refused) throw denied(refused);
  }
  return limits;
}

/** Whether these limits depend on the program and the node's allowlist. */
export function needsFacts(limits: readonly SessionLimits[]): boolean {
  return limits.some(isAboutPrograms);
}

function isAboutPrograms({ security, ask }: SessionLimits): boolean {
  return security !== undefined || ask !== undefined;
}

/**
 * The refusal for a run without a required approval; `undefined`: none is required.
 * @throws GatewayError `FORBIDDEN`: a session denies the program
 */
export function judgedBySessions(
  limits: readonly SessionLimits[],
  { nodeId, params, prepared, policy }: SessionRun,
): GatewayError | undefined {
  const facts = matches(Prepared, prepared) ? prepared : undefined;
  const own = matches(ExecPolicySnapshot, policy) ? rulesFor(policy.file, params.agentId ?? null) : BY_THE_NODE;
  const { resolvedPath, isSkillProgram = false } = facts ?? {};
  const rules = withPrograms(own, isSkillProgram && resolvedPath !== undefined ? [resolvedPath] : []);
  const plan = { ...planOf(params), cwd: params.cwd ?? facts?.plan.cwd ?? null };
  const place = {
    ...(facts?.home !== undefined && { home: facts.home }),
    ...(facts?.root !== undefined && { root: facts.root }),
    isElsewhere: true,
  };
  const judge = (narrowed: ExecRules) =>
    judgeRun(narrowed, plan, facts?.resolvedPath, Object.keys(params.env ?? {}), place);
  const verdicts = limits
    .filter(isAboutPrograms)
    .map((one) => judgeSession(one, rules, { kind: "node", nodeId }, judge));
  for (const one of verdicts) if (one.verdict === "deny") throw denied(one);
  const asks = verdicts.find((one) => one.verdict === "ask");
  if (!asks) return undefined;
  const { reason = "the policy of the node", next = "svc nodes run asks people" } = asks;
  return refusal("SESSION_ASKS", `this program needs an approval: ${reason}\nNext: ${next}`);
}

function denied({ reason, next }: { readonly reason: string; readonly next: string }): GatewayError {
  return new GatewayError("FORBIDDEN", `the program did not run: ${reason}\nNext: ${next}`);
}
