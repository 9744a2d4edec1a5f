/** What an approval may change about the policy's word, and what may be allowed for good. Pure. */
import { type ExecRules, type ExecVerdict, judgeExec } from "@svc/kit/exec";

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
