/** The default model of an agent, as rows and answers show it. */
import { isGatewayError } from "../gateway-error.ts";
import type { Models } from "./service.ts";

/** The model of conversations that have chosen none. */
export interface ModelDefaults {
  readonly modelProvider: string | null;
  readonly model: string | null;
  /** tokens */
  readonly contextTokens: number | null;
}

/**
 * The default model; nulls without one, or without the plugin `models`.
 * @param agentId default: the default agent
 */
export function modelDefaults(models: Pick<Models, "resolve"> | undefined, agentId?: string): ModelDefaults {
  try {
    const model = models?.resolve(undefined, agentId);
    return {
      modelProvider: model?.provider ?? null,
      model: model?.id ?? null,
      contextTokens: model?.contextWindow ?? null,
    };
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return { modelProvider: null, model: null, contextTokens: null };
  }
}
