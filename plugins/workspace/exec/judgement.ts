/** Whether a command may run here: what the policy file, the configuration and the session say, the strictest of them. Pure. */
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

/** A command as it would run. */
export interface Wish {
  readonly plan: SystemRunPlan;
  /** The program that would run, absolute. */
  readonly file: string;
  /** Names of variables that are added. */
  readonly envNames: readonly string[];
  readonly place: ExecPlace;
}

/** What sessions say: the one that asks, and those that started it. */
export interface SessionSays {
  readonly limits: readonly SessionLimits[];
  /** Commands of this agent run in a sandbox. */
  readonly isSandboxed: boolean;
}

/**
 * A no of the policy: who says it decides what can be done about it; a session says so itself, in `next`. `reason` of `ask`: the
 * setting of a session that alone wants people asked.
 */
export type Verdict =
  | Extract<ExecVerdict, { readonly verdict: "allow" }>
  | { readonly verdict: "ask"; readonly fallback: "allow" | "deny"; readonly reason?: string }
  | { readonly verdict: "deny"; readonly reason: string; readonly by: "file" | "config" }
  | { readonly verdict: "deny"; readonly reason: string; readonly by: "session"; readonly next: string };

type Limits = Pick<ExecConfig, "security" | "ask">;

/** Whether an allowlist decides: a program that runs by itself can be on it, a shell cannot. */
export function hasAllowlist(rules: ExecRules, { security }: Limits, sessions: SessionSays["limits"] = []): boolean {
  return [rules, { security }, ...sessions].some((one) => one.security === "allowlist");
}

/**
 * Choice: `security` and `ask` of the configuration and of each session are rules beside those of the file, with its allowlist; each
 * may say no, and each may have people asked. An absent key is the file's.
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

/** What an operator can do about a no. */
export function nextStep(by: "file" | "config", rules: ExecRules, agentId: string): string {
  if (by === "config") return "an operator can change tools.exec; until then do without commands";
  if (rules.security === "deny") {
    return `an operator can have people decide: svc approvals security allowlist --ask on-miss --agent ${agentId}`;
  }
  return `an operator can allow a program: svc approvals allowlist add /path/to/program --agent ${agentId}`;
}
