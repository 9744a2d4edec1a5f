/** Which sessions the tools of a session reach: one rule for all of them. Pure. Spec: http/tools-invoke.md §8. */
import type { Reach } from "../config.ts";

/** A session as the rule sees it. */
export interface SessionRef {
  /** Canonical. */
  readonly key: string;
  readonly agentId: string;
}

/**
 * Whether tools of `from` may touch `target`. Another agent's session needs both: a wide enough `visibility`, and
 * `agentToAgent` for both agents. Choice: that also holds for sessions that `from` started itself.
 * @param isDescendant `from` started `target`, directly or through other sessions
 */
export function isVisible(from: SessionRef, target: SessionRef, isDescendant: boolean, reach: Reach): boolean {
  if (from.key === target.key) return true;
  if (from.agentId !== target.agentId && !mayMeet(from.agentId, target.agentId, reach.agentToAgent)) return false;
  switch (reach.visibility) {
    case "self":
      return false;
    case "tree":
      return isDescendant;
    case "agent":
      return isDescendant || from.agentId === target.agentId;
    default:
      return true;
  }
}

/** Whether two agents may reach each other at all. */
export function mayMeet(one: string, other: string, { enabled, allow }: Reach["agentToAgent"]): boolean {
  const isNamed = (agentId: string) => allow.some((entry) => entry === "*" || entry.trim().toLowerCase() === agentId);
  return enabled && isNamed(one) && isNamed(other);
}
