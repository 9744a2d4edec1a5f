/** Selects the models and the thinking level of a run. No I/O. */
import { GatewayError, type Logger } from "@svc/sdk";
import type { RunRequest } from "@svc/sdk/agents";
import { type Models, parseThinkingLevel, type ResolvedModel, type ThinkingLevel } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { AgentsConfig } from "../config.ts";
import { refsOf } from "../directory/directory.ts";
import { SUBAGENT, subagentSettings } from "../subagents/settings.ts";

export type ModelRefs = readonly (string | undefined)[];

/**
 * The request's model, else the session's, replaces the agent's primary model; the fallbacks stay. For sub-runs, their
 * own setting takes precedence over the agent's.
 * @param configured model references of the agent, in order; empty: the default of the plugin `models`
 */
export function modelRefs(
  request: Pick<RunRequest, "model" | "source">,
  entry: SessionEntry | undefined,
  configured: readonly string[],
  config: AgentsConfig,
  agentId: string,
): ModelRefs {
  const own = request.source === SUBAGENT ? refsOf(subagentSettings(config, agentId).model) : [];
  const refs = own.length > 0 ? own : configured;
  const first = request.model ?? sessionModel(entry);
  if (first !== undefined) return [first, ...refs.slice(1)];
  return refs.length > 0 ? refs : [undefined];
}

function sessionModel({ modelOverride, providerOverride }: Partial<SessionEntry> = {}): string | undefined {
  if (modelOverride === undefined || providerOverride === undefined) return modelOverride;
  return `${providerOverride}/${modelOverride}`;
}

/** From the request, else session, agent (for sub-runs), `agents.defaults.thinkingDefault`; `undefined`: the model's default. */
export function thinkingOf(
  request: Pick<RunRequest, "thinking" | "source">,
  entry: SessionEntry | undefined,
  config: AgentsConfig,
  agentId: string,
): ThinkingLevel | undefined {
  const session = entry?.thinkingLevel === undefined ? undefined : parseThinkingLevel(entry.thinkingLevel);
  const agent = request.source === SUBAGENT ? subagentSettings(config, agentId).thinking : undefined;
  return request.thinking ?? session ?? agent ?? config.defaults.thinkingDefault;
}

/** Resolves the references that exist, without duplicates. @throws GatewayError `NOT_FOUND` when none exists */
export function resolveAll(
  models: Pick<Models, "resolve">,
  refs: ModelRefs,
  log: Pick<Logger, "warn">,
): readonly [ResolvedModel, ...ResolvedModel[]] {
  const found = new Map<string, ResolvedModel>();
  let firstError: unknown;
  for (const ref of refs) {
    try {
      const model = models.resolve(ref);
      found.set(`${model.provider}/${model.id}`, model);
    } catch (error) {
      firstError ??= error;
      log.warn({ err: error, model: ref }, "a configured model does not exist; trying the next one");
    }
  }
  const [first, ...others] = found.values();
  if (!first) throw firstError ?? new GatewayError("NOT_FOUND", "no model is configured; add one to `models`");
  return [first, ...others];
}
