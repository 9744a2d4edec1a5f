/** Whether a command may run here: the policy's word, and what an approval may change about it. Pure; the node and whoever asks it use the same. */
import { type ExecRules, type ExecVerdict, judgeExec, type SystemRunPlan } from "@svc/sdk/exec";
import { isHarmless } from "./environment.ts";

/** @param envNames of variables that are added @param home directory on the node that `~/` stands for in patterns; default: here */
export function judgeRun(
  rules: ExecRules,
  plan: SystemRunPlan,
  resolvedPath: string | undefined,
  envNames: readonly string[],
  home?: string,
): ExecVerdict {
  const verdict = judgeExec(rules, plan, resolvedPath, home);
  const isListed = verdict.verdict === "allow" && rules.security === "allowlist";
  const unlisted = isListed ? envNames.filter((name) => !isHarmless(name)) : [];
  if (unlisted.length === 0) return verdict;
  // A program is on the list for what it does by itself: with another environment it is another one.
  if (rules.ask === "off") return { verdict: "deny", reason: `allowlist miss (environment: ${unlisted.join(", ")})` };
  return { verdict: "ask", fallback: "deny" };
}

/**
 * Why a command does not run, or `undefined`.
 * Choice: an approval answers a question the policy asks. It never changes what the policy denies, so that a gateway cannot talk a
 * machine into more than its owner wrote down.
 */
export function whyNot(verdict: ExecVerdict, isApproved: boolean): string | undefined {
  if (verdict.verdict === "deny") return verdict.reason;
  return verdict.verdict === "ask" && !isApproved ? "approval required" : undefined;
}

/**
 * Whether an `allow-always` may put a program on the allowlist. Choice: not what runs whatever its arguments say (`sh`, `env`,
 * `python`): everything would be on the list then. Nor a path that would mean others as a pattern.
 * @param name it is called by @param path absolute, as it was resolved
 */
export function canBeListed(name: string, path: string): boolean {
  if (/[*?]/.test(path)) return false;
  const strictest: ExecRules = { security: "allowlist", ask: "off", askFallback: "deny", patterns: [path] };
  const inline = { argv: [name, "-c", "text"], cwd: null, rawCommand: null, agentId: null, sessionKey: null };
  return judgeExec(strictest, inline, path).verdict === "allow";
}
