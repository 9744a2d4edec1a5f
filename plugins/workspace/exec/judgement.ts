/** Judges whether a command may run: the strictest of the policy file, the configuration and the session decides. Pure. */
import {
  type ExecPlace,
  type ExecRules,
  type ExecVerdict,
  judgeRun,
  judgeSession,
  type SessionLimits,
  type SessionVerdict,
} from "@svc/kit/exec";
import type { SystemRunPlan } from "@svc/sdk/approvals";
import type { ExecConfig } from "../config.ts";

/** A command to judge. */
export interface Wish {
  readonly plan: SystemRunPlan;
  /** Absolute path of the program that would run. */
  readonly file: string;
  /** Names of added variables. */
  readonly envNames: readonly string[];
  readonly place: ExecPlace;
}

/** Settings of the session of the call, and of those that started it. */
export interface SessionSays {
  readonly limits: readonly SessionLimits[];
  /** Whether commands of this agent run in a sandbox. */
  readonly isSandboxed: boolean;
}

/**
 * Result of the judgement. `by` of a denial decides the next step; a session names it in `next`. `reason` of `ask`: the setting of a
 * session, when only that requires an approval.
 */
export type Verdict =
  | Extract<ExecVerdict, { readonly verdict: "allow" }>
  | { readonly verdict: "ask"; readonly fallback: "allow" | "deny"; readonly reason?: string }
  | { readonly verdict: "deny"; readonly reason: string; readonly by: "file" | "config" }
  | { readonly verdict: "deny"; readonly reason: string; readonly by: "session"; readonly next: string };

type Limits = Pick<ExecConfig, "security" | "ask">;

/** Whether an allowlist decides. It can have programs that run directly, but never a shell. */
export function hasAllowlist(rules: ExecRules, { security }: Limits, sessions: SessionSays["limits"] = []): boolean {
  return [rules, { security }, ...sessions].some((one) => one.security === "allowlist");
}

/**
 * Choice: `security` and `ask` of the configuration and of each session are further rules with the allowlist of the policy file. Each
 * may deny the command or require an approval. An absent key has the value of the policy file.
 */
export function judged(
  rules: ExecRules,
  limits: Limits,
  { plan, file, envNames, place }: Wish,
  sessions: SessionSays = { limits: [], isSandboxed: false },
): Verdict {
  const { security = rules.security, ask = rules.ask } = limits;
  const byFile = judgeRun(rules, plan, file, envNames, place);
  const byConfig = judgeRun({ ...rules, security, ask }, plan, file, envNames, place);
  if (byFile.verdict === "deny") return { ...byFile, by: "file" };
  if (byConfig.verdict === "deny") return { verdict: "deny", reason: reasonOf(security), by: "config" };
  const here = { kind: "gateway", isSandboxed: sessions.isSandboxed } as const;
  const bySession = sessions.limits.map((one) =>
    judgeSession(one, rules, here, (narrowed) => judgeRun(narrowed, plan, file, envNames, place)),
  );
  for (const one of bySession) if (one.verdict === "deny") return { ...one, by: "session" };
  const asks: Extract<SessionVerdict, { readonly verdict: "ask" }>[] = [byFile, byConfig, ...bySession].filter(
    (one) => one.verdict === "ask",
  );
  const [first] = asks;
  if (!first) return byFile;
  const fallback = asks.every((one) => one.fallback === "allow") ? "allow" : "deny";
  return { verdict: "ask", fallback, ...(first.reason !== undefined && { reason: first.reason }) };
}

function reasonOf(security: ExecRules["security"]): string {
  if (security === "deny") return "tools.exec.security is deny";
  return "the program is not on the allowlist of this agent, and tools.exec.ask is off";
}

/** The next step after a denial. */
export function nextStep(by: "file" | "config", rules: ExecRules, agentId: string): string {
  if (by === "config") return "an operator can change tools.exec; until then work without commands";
  if (rules.security === "deny") {
    return `an operator can have people decide: svc approvals security allowlist --ask on-miss --agent ${agentId}`;
  }
  return `an operator can allow a program: svc approvals allowlist add /path/to/program --agent ${agentId}`;
}
