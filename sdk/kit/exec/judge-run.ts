/** Whether a command with an environment of its own may run. */
import type { ExecPlace } from "./place.ts";
import { type ExecRules, type ExecVerdict, judgeExec } from "./policy.ts";
import type { SystemRunPlan } from "@svc/sdk/approvals";
import { isHarmless } from "./variables.ts";

/**
 * As `judgeExec`, with an environment that is added to the program's own.
 * @param envNames of the variables that are added @param place where it runs. Absent: profiles allow no paths
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
  // A program is on the list for what it does by itself: with another environment it is another one.
  if (verdict.verdict === "allow" && rules.ask === "off")
    return { verdict: "deny", reason: `allowlist miss (environment: ${unlisted.join(", ")})` };
  return { verdict: "ask", fallback: "deny" };
}
