/** Selects agent and session: validates fields, then the policy for agents, then the policy for session keys. Spec: http/webhooks.md §5.1-5.3. */
import { normalizeId } from "@svc/kit/agent-address";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";
import type { PreparedWebhook, WebhookActionContext, WebhookFields } from "@svc/sdk/webhooks";
import type { AgentParams } from "./fields.ts";
import { normalise, type NormalisationContext } from "./normalisation.ts";

export interface PreparationSources extends Omit<NormalisationContext, "source"> {
  readonly agents: AgentDirectory;
  readonly sessions: Pick<Sessions, "canonicalKey" | "agentOf">;
}

/** @throws GatewayError `INVALID_REQUEST` with a message for the sender */
export function prepareAgent(
  fields: WebhookFields,
  { source, policy }: WebhookActionContext,
  sources: PreparationSources,
): PreparedWebhook {
  const asked = normalise(fields, { ...sources, source });
  const agentId = targetAgent(asked.agentId, sources.agents);
  policy.checkAgentId(agentId);
  const sessionKey = storeKey(policy.sessionKey(asked.sessionKey), agentId, sources.sessions);
  const params: AgentParams = { ...asked, agentId, sessionKey };
  return { params, sessionKey };
}

/** Spec: §5.2: an unknown id means the default agent. */
function targetAgent(asked: string | undefined, agents: AgentDirectory): string {
  const id = asked === undefined ? agents.defaultId : normalizeId(asked);
  return agents.has(id) ? id : agents.defaultId;
}

/**
 * Spec: §5.3: a key of the target agent is used unchanged; any other key, even one of another agent, becomes a key of the
 * target agent. @throws GatewayError `INVALID_REQUEST` for a malformed key
 */
function storeKey(key: string, agentId: string, { canonicalKey, agentOf }: PreparationSources["sessions"]): string {
  const isScoped = /^\s*agent\s*:/i.test(key);
  if (isScoped && agentOf(canonicalKey(key)) === agentId) return canonicalKey(key);
  return canonicalKey(`agent:${agentId}:${key.trim()}`);
}
