/**
 * What the settings of a session say about a program on a node, beside what the node's own policy says. Judged in the gateway for
 * whoever names a session with `system.run`: the tool, `svc nodes run` and every other client. They only narrow.
 */
import {
  type ExecRules,
  judgeRun,
  judgeSession,
  limitsOf,
  placeRefusal,
  rulesFor,
  type SessionLimits,
} from "@svc/kit/exec";
import { GatewayError, type Live, matches, Type, unavailable } from "@svc/sdk";
import { ExecPolicySnapshot } from "@svc/sdk/approvals";
import { refusal } from "@svc/sdk/errors";
import type { Sessions } from "@svc/sdk/sessions";
import { planOf, type RunParams } from "./run-params.ts";

/** A program that a session wants to run on a node. */
export interface SessionRun {
  readonly nodeId: string;
  readonly params: RunParams;
  /** Answer of the node to `system.run.prepare`; `undefined`: it does not say what would run. */
  readonly prepared: unknown;
  /** Answer of the node to the question for its policy file; `undefined`: it keeps none. */
  readonly policy: unknown;
}

const Prepared = Type.Object({
  plan: Type.Object({ cwd: Type.Optional(Type.Union([Type.String(), Type.Null()])) }),
  resolvedPath: Type.Optional(Type.String()),
  home: Type.Optional(Type.String()),
  root: Type.Optional(Type.String()),
});

/** A node without a policy file decides by itself: no list is known here, so that every program is a miss of it. */
const BY_THE_NODE: ExecRules = { security: "full", ask: "off", askFallback: "deny", allowlist: [] };

/**
 * Limits that hold for programs of a session on this node; empty: none.
 * @throws GatewayError `FORBIDDEN`: the session lets no program run there; `UNAVAILABLE`: nobody knows its settings now
 */
export async function sessionLimitsOn(
  nodeId: string,
  sessionKey: unknown,
  sessions: Live<Sessions>,
): Promise<readonly SessionLimits[]> {
  if (typeof sessionKey !== "string" || sessionKey.trim() === "") return [];
  const known = sessions.get();
  if (!known) return unavailable("no plugin keeps sessions now, so nobody knows what this one may run; try again");
  const limits = await limitsOf(known, sessionKey);
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
 * What wants people asked, as the refusal for whoever did not; `undefined`: nothing does.
 * @throws GatewayError `FORBIDDEN`: a session does not let it run
 */
export function judgedBySessions(
  limits: readonly SessionLimits[],
  { nodeId, params, prepared, policy }: SessionRun,
): GatewayError | undefined {
  const facts = matches(Prepared, prepared) ? prepared : undefined;
  const rules = matches(ExecPolicySnapshot, policy) ? rulesFor(policy.file, params.agentId ?? null) : BY_THE_NODE;
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
  return refusal("SESSION_ASKS", `a person has to allow this program: ${reason}\nNext: ${next}`);
}

function denied({ reason, next }: { readonly reason: string; readonly next: string }): GatewayError {
  return new GatewayError("FORBIDDEN", `the program did not run: ${reason}\nNext: ${next}`);
}
