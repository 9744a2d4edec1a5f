/** What a run needs before its first question: session, models, prompt, history and tools. Reads only. */
import { GatewayError, type HookEmitter, type HOOKS, type Logger } from "@svc/sdk";
import type { Message, Models, ResolvedModel, RunRequest, SessionEntry, Sessions, ToolSpec } from "@svc/sdk/services";
import type { ConfiguredAgents } from "./directory.ts";
import { HISTORY_MESSAGES, limitsOf, modelHistory } from "./history.ts";
import type { ToolBox } from "./tools.ts";

export interface Preparation {
  readonly agentId: string;
  readonly models: readonly [ResolvedModel, ...ResolvedModel[]];
  readonly system: string;
  readonly history: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly thinking?: string;
}

export interface PreparationSources {
  readonly services: { readonly sessions: Sessions; readonly models: Models };
  readonly agents: ConfiguredAgents;
  readonly tools: ToolBox;
  readonly promptHook: HookEmitter<typeof HOOKS.runPrompt>;
  readonly log: Pick<Logger, "warn">;
}

/** @throws GatewayError `NOT_FOUND` when none of the models exists */
export async function prepareRun(
  request: RunRequest,
  entry: SessionEntry | undefined,
  sources: PreparationSources,
): Promise<Preparation> {
  const { services, agents, tools, promptHook, log } = sources;
  const { runId, sessionKey, extraSystemPrompt, principal } = request;
  const agentId = services.sessions.agentOf(sessionKey);
  const agent = agents.settings(agentId);
  const models = resolveAll(services.models, modelRefs(entry, agent.models), log);
  const transcript = await services.sessions.transcript(sessionKey, HISTORY_MESSAGES);
  const prompt = extraSystemPrompt ? `${agent.systemPrompt}\n\n${extraSystemPrompt}` : agent.systemPrompt;
  const { system } = await promptHook.emit({ runId, sessionKey, system: prompt });
  const thinking = request.thinking ?? entry?.thinkingLevel;
  return {
    agentId,
    models,
    system,
    history: modelHistory(
      transcript.map(({ message }) => message),
      limitsOf(models[0]),
    ),
    tools: tools.specs(principal),
    // Choice: "off" is the same as not asking for it.
    ...(thinking === undefined || thinking === "off" ? {} : { thinking }),
  };
}

/** The session's own choice stands in for the agent's first model; its fallbacks stay. */
function modelRefs(entry: SessionEntry | undefined, configured: readonly string[]): readonly (string | undefined)[] {
  const { modelOverride, providerOverride } = entry ?? {};
  if (modelOverride === undefined) return configured.length > 0 ? configured : [undefined];
  const own = providerOverride === undefined ? modelOverride : `${providerOverride}/${modelOverride}`;
  return [own, ...configured.slice(1)];
}

function resolveAll(models: Models, refs: readonly (string | undefined)[], log: Pick<Logger, "warn">) {
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
  return [first, ...others] as const;
}
