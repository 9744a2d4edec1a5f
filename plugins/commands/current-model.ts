/** The model of a session. Pure. */
import { isGatewayError } from "@svc/sdk";
import type { Models, ResolvedModel } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";

/** `provider/id` of the next reply: chosen in the session, else used last, else the default; `undefined`: no model. */
export function currentModel(
  { modelOverride, providerOverride, model, modelProvider }: Partial<SessionEntry>,
  models: Pick<Models, "resolve"> | undefined,
): string | undefined {
  if (modelOverride) return nameOf(providerOverride, modelOverride);
  if (model) return nameOf(modelProvider, model);
  const known = resolved(models, undefined);
  return known && nameOf(known.provider, known.id);
}

function nameOf(provider: string | undefined, id: string): string {
  return provider ? `${provider}/${id}` : id;
}

/** `undefined` if there is no such model, or no catalogue. @param ref absent: the default model */
export function resolved(
  models: Pick<Models, "resolve"> | undefined,
  ref: string | undefined,
): ResolvedModel | undefined {
  try {
    return models?.resolve(ref);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return undefined;
  }
}
