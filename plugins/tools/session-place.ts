/** What a session key tells the policy: which group it belongs to, and whether a sub-agent has it. Pure. Spec: http/tools-invoke.md §7.3, §7.4. */
import type { ToolAddress, ToolScene } from "@svc/sdk/tools";

/** A group of a channel. */
export interface GroupPlace {
  readonly channel: string;
  readonly accountId?: string;
  /** As in the session key: lower case. */
  readonly groupId: string;
}

const GROUP = /^([^:]+):(?:group|channel):(.+)$/s;
const THREAD = /^(.+):(?:thread|topic):.*$/s;

function restOf(sessionKey: string): string | undefined {
  return /^agent:[^:]+:(.+)$/s.exec(sessionKey)?.[1];
}

/**
 * The groups whose rules count. Choice: where a request names another channel than the key, those of both: no header
 * gets anybody around the rules of the group the session is in.
 */
export function groupsOf(sessionKey: string, address: ToolAddress = {}): readonly GroupPlace[] {
  const rest = restOf(sessionKey)?.replace(/^subagent:/, "") ?? "";
  const [, channel, groupId] = GROUP.exec(THREAD.exec(rest)?.[1] ?? rest) ?? [];
  if (channel === undefined || groupId === undefined) return [];
  const named = address.channel?.trim().toLowerCase() || channel;
  const account = address.accountId === undefined ? {} : { accountId: address.accountId };
  return [...new Set([channel, named])].map((one) => ({ channel: one, ...account, groupId }));
}

/**
 * How deep the sub-agent is whose session it is; `undefined` for any other session. Spec: §7.4, sessions-routing.md §2.
 * Choice: the key has to do, as what its entry says (`spawnDepth`) cannot be read at once. Keys that do not nest count as 1:
 * deeper ones are offered `sessions_spawn` where the limit is higher, and it is `sessions_spawn` that refuses then.
 */
export function subagentDepth(sessionKey: string, surface: ToolScene["surface"]): number | undefined {
  const rest = restOf(sessionKey);
  if (!rest?.startsWith("subagent:")) return undefined;
  return surface === "http" ? 1 : rest.split(":").filter((segment) => segment === "subagent").length;
}
