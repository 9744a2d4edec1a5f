/** Whether a command with added environment variables may run. */
import type { ExecPlace } from "./place.ts";
import { type ExecRules, type ExecVerdict, judgeExec } from "./policy.ts";
import type { SystemRunPlan } from "@svc/sdk/approvals";
import { isHarmless } from "./variables.ts";

/**
 * Like `judgeExec`, for a program that gets additional environment variables.
 * @param envNames names of the added variables
 * @param place where it runs. Absent: profiles allow no paths
 */
export function judgeRun(
  rules: ExecRules,
  plan: SystemRunPlan,
  resolvedPath: string | undefined,
  envNames: readonly string[],
  place?: ExecPlace,
): ExecVerdict {
  const verdict = judgeExec(rules, plan, resolvedPath, place);
  const isListed =
    verdict.verdict === "allow"
      ? rules.security === "allowlist"
      : verdict.verdict === "ask" && verdict.fallback === "allow" && rules.askFallback === "allowlist";
  const unlisted = isListed ? envNames.filter((name) => !isHarmless(name)) : [];
  if (unlisted.length === 0) return verdict;
  // An allowlisted program is trusted for its own behavior; another environment can change it.
  if (verdict.verdict === "allow" && rules.ask === "off")
    return { verdict: "deny", reason: `allowlist miss (environment: ${unlisted.join(", ")})` };
  return { verdict: "ask", fallback: "deny" };
}
