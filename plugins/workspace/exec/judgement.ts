/** Whether a command may run here: what the policy file says and what the configuration says, the stricter of both. Pure. */
import { type ExecPlace, type ExecRules, type ExecVerdict, judgeRun } from "@svc/kit/exec";
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

/** A no of the policy: who says it decides what can be done about it. */
export type Verdict =
  | Exclude<ExecVerdict, { readonly verdict: "deny" }>
  | { readonly verdict: "deny"; readonly reason: string; readonly by: "file" | "config" };

type Limits = Pick<ExecConfig, "security" | "ask">;

/** Whether an allowlist decides: a program that runs by itself can be on it, a shell cannot. */
export function hasAllowlist(rules: ExecRules, { security }: Limits): boolean {
  return rules.security === "allowlist" || security === "allowlist";
}

/**
 * Choice: the configuration's `security` and `ask` are rules beside those of the file, with its allowlist; each may say no, and
 * each may have people asked. An absent key is the file's.
 */
export function judged(rules: ExecRules, limits: Limits, { plan, file, envNames, place }: Wish): Verdict {
  const { security = rules.security, ask = rules.ask } = limits;
  const byFile = judgeRun(rules, plan, file, envNames, place);
  const byConfig = judgeRun({ ...rules, security, ask }, plan, file, envNames, place);
  if (byFile.verdict === "deny") return { ...byFile, by: "file" };
  if (byConfig.verdict === "deny") return { verdict: "deny", reason: reasonOf(security), by: "config" };
  const asks = [byFile, byConfig].filter((one) => one.verdict === "ask");
  if (asks.length === 0) return byFile;
  return { verdict: "ask", fallback: asks.every(({ fallback }) => fallback === "allow") ? "allow" : "deny" };
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
