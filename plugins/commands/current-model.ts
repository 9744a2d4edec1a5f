/** The model of a session. */
import { isGatewayError } from "@svc/sdk";
import type { ChatCommandCall } from "@svc/sdk/commands";
import type { Models, ResolvedModel } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { CommandSources } from "./sources.ts";

/**
 * `provider/id` of the next reply: chosen in the session, else used last, else the default of the agent; `undefined`: no
 * model.
 */
export function currentModel(
  { sessions, models }: Pick<CommandSources, "sessions" | "models">,
  { sessionKey }: Pick<ChatCommandCall, "sessionKey">,
  { modelOverride, providerOverride, model, modelProvider }: Partial<SessionEntry>,
): string | undefined {
  if (modelOverride) return nameOf(providerOverride, modelOverride);
  if (model) return nameOf(modelProvider, model);
  const known = resolved(models.get(), undefined, sessions.get()?.agentOf(sessionKey));
  return known && nameOf(known.provider, known.id);
}

function nameOf(provider: string | undefined, id: string): string {
  return provider ? `${provider}/${id}` : id;
}

/** `undefined` if there is no such model, or no catalogue. @param ref absent: the default model of the agent */
export function resolved(
  models: Pick<Models, "resolve"> | undefined,
  ref: string | undefined,
  agentId?: string,
): ResolvedModel | undefined {
  try {
    return models?.resolve(ref, agentId);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return undefined;
  }
}
