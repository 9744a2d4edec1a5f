/** Derives a session's group and sub-agent depth from its key. Pure. Spec: http/tools-invoke.md §7.3, §7.4. */
import type { ToolAddress, ToolScene } from "@svc/sdk/tools";

/** A group of a channel. */
export interface GroupPlace {
  readonly channel: string;
  readonly accountId?: string;
  /** As in the session key: lower case. */
  readonly groupId: string;
  /** As in the session key. */
  readonly threadId?: string;
}

const GROUP = /^([^:]+):(?:group|channel):(.+)$/s;
const THREAD = /^(.+):(?:thread|topic):(.*)$/s;

function restOf(sessionKey: string): string | undefined {
  return /^agent:[^:]+:(.+)$/s.exec(sessionKey)?.[1];
}

/**
 * The groups whose rules apply. Choice: if a request names another channel than the key, the rules of both apply, so that a
 * header cannot bypass the rules of the session's group.
 */
export function groupsOf(sessionKey: string, address: ToolAddress = {}): readonly GroupPlace[] {
  const rest = restOf(sessionKey)?.replace(/^subagent:/, "") ?? "";
  const [, outside = rest, threadId] = THREAD.exec(rest) ?? [];
  const [, channel, groupId] = GROUP.exec(outside) ?? [];
  if (channel === undefined || groupId === undefined) return [];
  const named = address.channel?.trim().toLowerCase() || channel;
  const account = address.accountId === undefined ? {} : { accountId: address.accountId };
  const thread = threadId ? { threadId } : {};
  return [...new Set([channel, named])].map((one) => ({ channel: one, ...account, groupId, ...thread }));
}

/**
 * Nesting depth of a sub-agent's session; `undefined` for any other session. Spec: §7.4, sessions-routing.md §2.
 * Choice: derived from the key, since `spawnDepth` of the entry cannot be read synchronously. Keys that do not nest count as
 * 1: if the limit is higher, `sessions_spawn` is offered to deeper sub-agents, and refuses the call itself.
 */
export function subagentDepth(sessionKey: string, surface: ToolScene["surface"]): number | undefined {
  const rest = restOf(sessionKey);
  if (!rest?.startsWith("subagent:")) return undefined;
  return surface === "http" ? 1 : rest.split(":").filter((segment) => segment === "subagent").length;
}
