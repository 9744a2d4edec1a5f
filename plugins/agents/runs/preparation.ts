/** Loads and prepares everything for the first request of a run: session, models, prompt and tools. Reads only. */
import type { RunRequest } from "@svc/sdk/agents";
import type { ResolvedModel, ThinkingLevel } from "@svc/sdk/models";
import type { SessionEntry } from "@svc/sdk/sessions";
import { type Context, HISTORY_MESSAGES } from "../history/history.ts";
import type { WorkspacePrompt } from "../directory/workspace-prompt.ts";
import type { Environment } from "./environment.ts";
import type { Heard } from "./heard.ts";
import { modelRefs, resolveAll, thinkingOf } from "./options.ts";
import type { PromptReport } from "./prompt-report.ts";
import { RunTools } from "./tools.ts";

/** Data read at the start of a run. */
export interface Loaded {
  readonly agentId: string;
  readonly entry: SessionEntry | undefined;
  readonly context: Context;
  /** The caller gave the conversation: it replaces that of the session, and is never summarized. */
  readonly isGiven: boolean;
  readonly workspace: WorkspacePrompt;
}

const NO_FILES: WorkspacePrompt = { text: "", files: [], parts: [] };

/** Reads everything that does not depend on the run's message, in parallel. */
export async function load(
  { sessionKey, lightContext = false }: Pick<RunRequest, "sessionKey" | "lightContext">,
  env: Environment,
): Promise<Loaded> {
  const { sessions } = env.services;
  const agentId = sessions.agentOf(sessionKey);
  const [entry, context, workspace] = await Promise.all([
    sessions.get(sessionKey),
    sessions.context(sessionKey, HISTORY_MESSAGES),
    pulled(lightContext, agentId, env),
  ]);
  return { agentId, entry, context, isGiven: false, workspace };
}

/** The files of the prompt, once the workspace is up to date: tools read it, too. */
async function pulled(lightContext: boolean, agentId: string, env: Environment): Promise<WorkspacePrompt> {
  await env.files?.pull(agentId);
  return lightContext ? NO_FILES : workspaceOf(agentId, env);
}

/** Choice: an agent answers even if its files cannot be read. */
async function workspaceOf(agentId: string, { workspacePrompt, log }: Environment): Promise<WorkspacePrompt> {
  try {
    return (await workspacePrompt?.(agentId)) ?? NO_FILES;
  } catch (error) {
    log.warn(
      { err: error, agentId },
      "the files of an agent's workspace could not be read; the run continues without them",
    );
    return NO_FILES;
  }
}

export interface Preparation {
  readonly agentId: string;
  readonly models: readonly [ResolvedModel, ...ResolvedModel[]];
  readonly system: string;
  readonly tools: RunTools;
  readonly thinking?: ThinkingLevel;
  readonly report: PromptReport;
}

/** @throws GatewayError `NOT_FOUND` when none of the models exists */
export async function prepareRun(
  request: RunRequest,
  { agentId, entry, workspace }: Loaded,
  heard: Heard,
  env: Environment,
): Promise<Preparation> {
  const { services, agents, promptHook, config, log } = env;
  const { runId, sessionKey, extraSystemPrompt } = request;
  const agent = agents.settings(agentId);
  const models = resolveAll(services.models, modelRefs(request, entry, agent.models, config(), agentId), log);
  const prompt = [agent.systemPrompt, workspace.text, extraSystemPrompt].filter(Boolean).join("\n\n");
  const tools = new RunTools(request, agentId, services.tools, heard);
  const names = tools.offer(models[0], false).tools.map(({ name }) => name);
  const { system, outside = [], skills } = await promptHook.emit({ runId, sessionKey, system: prompt, tools: names });
  for (const { origin, text } of outside) heard.add(origin, text);
  const thinking = thinkingOf(request, entry, config(), agentId);
  const report = { system, workspace, directory: agent.workspace, tools, ...(skills && { skills }) };
  return {
    agentId,
    models,
    system,
    tools,
    report,
    ...(thinking === undefined ? {} : { thinking }),
  };
}
