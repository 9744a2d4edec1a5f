/** What an approval may change about the policy's word, and what may be allowed for good. Pure. */
import { type ExecPlace, type ExecRules, type ExecVerdict, judgeExec, runnerOf } from "@svc/kit/exec";
import type { AllowedProgram, SystemRunPlan } from "@svc/sdk/approvals";
import type { PlacedPlan } from "./command-plan.ts";

/**
 * Why a command does not run, or `undefined`.
 * Choice: an approval answers a question the policy asks. It never changes what the policy denies, so that a gateway cannot talk a
 * machine into more than its owner wrote down.
 */
export function whyNot(verdict: ExecVerdict, isApproved: boolean): string | undefined {
  if (verdict.verdict === "deny") return verdict.reason;
  return verdict.verdict === "ask" && !isApproved ? "approval required" : undefined;
}

/** What somebody allows for good: this program with these arguments, in this directory. @param path absolute, as it was resolved */
export function exactEntry({ argv, cwd }: Pick<PlacedPlan, "argv" | "cwd">, path: string): AllowedProgram {
  return { pattern: path, args: argv.slice(1), cwd };
}

/**
 * Whether an `allow-always` may put an entry on the allowlist. Choice: not of a program whose business is to run others (`sh -c`, `env make`,
 * `python job.py`), nor where the entry would not allow the command again. Nor a path that would mean others as a pattern.
 */
export function canBeListed(entry: AllowedProgram, plan: SystemRunPlan, path: string, place: ExecPlace): boolean {
  if (/[*?]/.test(path) || runnerOf(plan.argv[0] ?? "", path) !== undefined) return false;
  const strictest: ExecRules = { security: "allowlist", ask: "off", askFallback: "deny", allowlist: [entry] };
  return judgeExec(strictest, plan, path, place).verdict === "allow";
}
