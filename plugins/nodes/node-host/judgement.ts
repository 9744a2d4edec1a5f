/** Decides whether an approved command may run, and whether it may be added to the allowlist. Pure. */
import { type ExecPlace, type ExecRules, type ExecVerdict, judgeExec, runnerOf } from "@svc/kit/exec";
import type { AllowedProgram, SystemRunPlan } from "@svc/sdk/approvals";
import type { PlacedPlan } from "./command-plan.ts";

/**
 * Why a command does not run, or `undefined`.
 * Choice: an approval only counts where the policy asks for one. It never overrides a denial by the policy, so that a gateway
 * cannot make a machine run more than its owner allows.
 */
export function whyNot(verdict: ExecVerdict, isApproved: boolean): string | undefined {
  if (verdict.verdict === "deny") return verdict.reason;
  return verdict.verdict === "ask" && !isApproved ? "approval required" : undefined;
}

/** The allowlist entry for `allow-always`: this program with these arguments, in this directory. @param path resolved, absolute */
export function exactEntry({ argv, cwd }: Pick<PlacedPlan, "argv" | "cwd">, path: string): AllowedProgram {
  return { pattern: path, args: argv.slice(1), cwd };
}

/**
 * Whether `allow-always` may add the entry to the allowlist. Choice: not for programs that run others (`sh -c`, `env make`,
 * `python job.py`), not if the entry would not allow the command again, and not for a path that is also a pattern.
 */
export function canBeListed(entry: AllowedProgram, plan: SystemRunPlan, path: string, place: ExecPlace): boolean {
  if (/[*?]/.test(path) || runnerOf(plan.argv[0] ?? "", path) !== undefined) return false;
  const strictest: ExecRules = { security: "allowlist", ask: "off", askFallback: "deny", allowlist: [entry] };
  return judgeExec(strictest, plan, path, place).verdict === "allow";
}
