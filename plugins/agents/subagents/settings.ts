/** Sub-runs of an agent: their names, settings and scopes. No I/O. */
import { normalizeId } from "@svc/kit/agent-address";
import { coversScope, type Principal, type Scope } from "@svc/sdk";
import type { ThinkingLevel } from "@svc/sdk/models";
import type { AgentsConfig, ModelSetting } from "../config.ts";

/** Source and lane of a sub-run, and the marker in its session key. Spec: http/sessions-routing.md §1, §6. */
export const SUBAGENT = "subagent";
/** Source of the run that passes the result of a sub-run to its parent session. */
export const SUBAGENT_RESULT = "subagent-result";
/** Abort reason of a sub-run whose parent was stopped or reset; not announced. */
export const STOPPED_WITH_PARENT = "parent";
/** Abort reason of a sub-run that the tool `subagents` stopped; not announced, since the caller knows. */
export const STOPPED_BY_TOOL = "subagents";

/** Abort reason of a run whose credential has ended; not announced. */
export const REVOKED = "revoked";

export const isSubagentKey = (sessionKey: string) => /^agent:[^:]+:subagent:/.test(sessionKey);

export interface SubagentSettings {
  readonly model: ModelSetting | undefined;
  readonly thinking: ThinkingLevel | undefined;
  /** Whether this agent may start sub-runs of that one. */
  mayStart(agentId: string): boolean;
}

/** @param agentId for `model` and `thinking` the agent that runs; for `mayStart` the agent that starts the sub-run */
export function subagentSettings({ defaults, list = [] }: AgentsConfig, agentId: string): SubagentSettings {
  const own = list.find(({ id }) => normalizeId(id) === agentId)?.subagents;
  const allowed = own?.allowAgents;
  return {
    model: own?.model ?? defaults.subagents.model,
    thinking: own?.thinking ?? defaults.subagents.thinking,
    mayStart: (target) =>
      allowed === undefined ? target === agentId : allowed.some((id) => id === "*" || normalizeId(id) === target),
  };
}

const SUBAGENT_SCOPES: readonly Scope[] = ["operator.read", "operator.write"];

/**
 * The principal of a sub-run: its parent's, limited to reading and writing.
 * Choice: administration, pairing and approvals are reserved for runs that a person has started.
 */
export function narrowed(principal: Principal): Principal {
  return { ...principal, scopes: SUBAGENT_SCOPES.filter((scope) => coversScope(principal.scopes, scope)) };
}
