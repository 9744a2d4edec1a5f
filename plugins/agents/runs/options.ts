/** Which models a run may use, and how hard they think. Decides only. */
import { GatewayError, type Logger } from "@svc/sdk";
import type { RunRequest } from "@svc/sdk/agents";
import { type Models, parseThinkingLevel, type ResolvedModel, type ThinkingLevel } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { AgentsConfig } from "../config.ts";
import { refsOf } from "../directory/directory.ts";
import { SUBAGENT, subagentSettings } from "../subagents/settings.ts";

export type ModelRefs = readonly (string | undefined)[];

/**
 * The request's model, else the session's, stands in for the agent's first; its fallbacks stay. Sub-runs have a
 * setting of their own before the agent's.
 * @param configured references of the agent, in order; empty: whatever the plugin `models` has for its default
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

/** Request, session, agent (for sub-runs), `agents.defaults.thinkingDefault`; `undefined`: the model's own way. */
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

/** Those that exist, each once. @throws GatewayError `NOT_FOUND` when none does */
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
      log.warn({ err: error, model: ref }, "a configured model does not exist; the next one is tried");
    }
  }
  const [first, ...others] = found.values();
  if (!first) throw firstError ?? new GatewayError("NOT_FOUND", "no model is configured; add one to `models`");
  return [first, ...others];
}
