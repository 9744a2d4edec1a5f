/** What the configuration says about sub-runs of an agent, and what a sub-run may do. Decides only. */
import { coversScope, type Principal, type Scope } from "@svc/sdk";
import type { ThinkingLevel } from "@svc/sdk/services";
import type { AgentsConfig, ModelSetting } from "../config.ts";
import { normalizeAgentId } from "../directory/directory.ts";

export interface SubagentSettings {
  readonly model: ModelSetting | undefined;
  readonly thinking: ThinkingLevel | undefined;
  /** Whether this agent may start sub-runs of that one. */
  mayStart(agentId: string): boolean;
}

/** @param agentId agent that runs, for `model` and `thinking`; agent that starts, for `mayStart` */
export function subagentSettings({ defaults, list = [] }: AgentsConfig, agentId: string): SubagentSettings {
  const own = list.find(({ id }) => normalizeAgentId(id) === agentId)?.subagents;
  const allowed = own?.allowAgents;
  return {
    model: own?.model ?? defaults.subagents.model,
    thinking: own?.thinking ?? defaults.subagents.thinking,
    mayStart: (target) =>
      allowed === undefined ? target === agentId : allowed.some((id) => id === "*" || normalizeAgentId(id) === target),
  };
}

const SUBAGENT_SCOPES: readonly Scope[] = ["operator.read", "operator.write"];

/**
 * Who a sub-run acts for: its parent's caller, and at most to read and write.
 * Choice: administration, pairing and approvals stay with runs a person has started.
 */
export function narrowed(principal: Principal): Principal {
  return { ...principal, scopes: SUBAGENT_SCOPES.filter((scope) => coversScope(principal.scopes, scope)) };
}
