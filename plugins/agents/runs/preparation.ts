/** What a run needs before its first question: session, models, prompt and tools. Reads only. */
import type { HookEmitter, HOOKS, Live, Logger } from "@svc/sdk";
import type {
  Models,
  ResolvedModel,
  RunRequest,
  SessionEntry,
  Sessions,
  ThinkingLevel,
  Tools,
} from "@svc/sdk/services";
import type { AgentsConfig } from "../config.ts";
import type { ConfiguredAgents } from "../directory/directory.ts";
import { type Context, HISTORY_MESSAGES } from "../history/history.ts";
import { modelRefs, resolveAll, thinkingOf } from "./options.ts";
import { RunTools } from "./tools.ts";

export interface PreparationSources {
  readonly services: { readonly sessions: Sessions; readonly models: Models; readonly tools: Live<Tools> };
  readonly agents: ConfiguredAgents;
  readonly promptHook: HookEmitter<typeof HOOKS.runPrompt>;
  /** What the files of an agent's workspace add to its system prompt. */
  readonly workspacePrompt?: (agentId: string) => Promise<string>;
  /** As it is now. */
  readonly config: () => AgentsConfig;
  readonly log: Pick<Logger, "warn">;
}

/** What is read at the start of a run. */
export interface Loaded {
  readonly agentId: string;
  readonly entry: SessionEntry | undefined;
  readonly context: Context;
  /** The caller gave the conversation: what the session has is not shown, and nothing of it is summed up. */
  readonly isGiven: boolean;
  readonly workspace: string;
}

/** Everything that can be read before the run's message is kept; one trip to the storage. */
export async function load(
  { sessionKey, lightContext = false }: Pick<RunRequest, "sessionKey" | "lightContext">,
  sources: PreparationSources,
): Promise<Loaded> {
  const { sessions } = sources.services;
  const agentId = sessions.agentOf(sessionKey);
  const [entry, context, workspace] = await Promise.all([
    sessions.get(sessionKey),
    sessions.context(sessionKey, HISTORY_MESSAGES),
    lightContext ? "" : workspaceOf(agentId, sources),
  ]);
  return { agentId, entry, context, isGiven: false, workspace };
}

/** Choice: files that cannot be read do not keep an agent from answering. */
async function workspaceOf(agentId: string, { workspacePrompt, log }: PreparationSources): Promise<string> {
  try {
    return (await workspacePrompt?.(agentId)) ?? "";
  } catch (error) {
    log.warn({ err: error, agentId }, "the files of an agent's workspace could not be read; it runs without them");
    return "";
  }
}

export interface Preparation {
  readonly agentId: string;
  readonly models: readonly [ResolvedModel, ...ResolvedModel[]];
  readonly system: string;
  readonly tools: RunTools;
  readonly thinking?: ThinkingLevel;
}

/** @throws GatewayError `NOT_FOUND` when none of the models exists */
export async function prepareRun(
  request: RunRequest,
  { agentId, entry, workspace }: Loaded,
  sources: PreparationSources,
): Promise<Preparation> {
  const { services, agents, promptHook, config, log } = sources;
  const { runId, sessionKey, extraSystemPrompt } = request;
  const agent = agents.settings(agentId);
  const models = resolveAll(services.models, modelRefs(request, entry, agent.models, config(), agentId), log);
  const prompt = [agent.systemPrompt, workspace, extraSystemPrompt].filter(Boolean).join("\n\n");
  const { system } = await promptHook.emit({ runId, sessionKey, system: prompt });
  const thinking = thinkingOf(request, entry, config(), agentId);
  return {
    agentId,
    models,
    system,
    tools: new RunTools(request, agentId, services.tools),
    ...(thinking === undefined ? {} : { thinking }),
  };
}
