/** Who the agents are, decided from the configuration alone. */
import { misconfigured } from "@svc/sdk";
import type { AgentDirectory, AgentInfo } from "@svc/sdk/services";
import type { AgentsConfig, ModelSetting } from "./config.ts";

/** Choice: used when neither the agent nor the defaults have a prompt. */
const BUILT_IN_PROMPT =
  "You are a helpful assistant that people reach through a chat gateway. Answer in the language you are written to. " +
  "Use the tools you are offered where they help, and say so when something cannot be done.";

/** One agent with everything a run needs to know about it. */
export interface AgentSettings extends AgentInfo {
  readonly identity?: Readonly<Record<string, string>>;
  readonly systemPrompt: string;
  /** References to try in order; empty: whatever the plugin `models` has for its default. */
  readonly models: readonly string[];
}

export interface ConfiguredAgents extends AgentDirectory {
  list(): readonly AgentSettings[];
  /** Choice: an id nobody configured gets the defaults, so that a run accepted before a change of the list still ends. */
  settings(id: string): AgentSettings;
}

/** Lower case, other characters as `-`, at most 64; empty: `main`. Spec: http/sessions-routing.md §1. */
export function normalizeAgentId(id: string): string {
  const clean = id
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^[-_]+|-+$/g, "")
    .slice(0, 64);
  return clean || "main";
}

function modelRefs(setting: ModelSetting | undefined): readonly string[] {
  if (setting === undefined) return [];
  return typeof setting === "string" ? [setting] : [setting.primary, ...(setting.fallbacks ?? [])];
}

/**
 * The default agent is the first with `default: true`, else the first, else `main`. Spec: http/sessions-routing.md §1.
 * @throws SetupOutcome `misconfigured` when two agents have the same id
 */
export function createDirectory({ defaults, list }: AgentsConfig): ConfiguredAgents {
  const entries = list && list.length > 0 ? list : [{ id: "main" }];
  const ids = entries.map(({ id }) => normalizeAgentId(id));
  const repeated = ids.findIndex((id, index) => ids.indexOf(id) !== index);
  if (repeated >= 0) misconfigured(`/list/${repeated}/id`, `two agents are called "${ids[repeated]}"; rename one`);

  const defaultIndex = Math.max(
    0,
    entries.findIndex((entry) => entry.default === true),
  );
  const defaultId = ids[defaultIndex] ?? "main";
  const configured = (id: string): AgentSettings => {
    const entry = entries[ids.indexOf(id)];
    return {
      id,
      ...(entry?.name === undefined ? {} : { name: entry.name }),
      isDefault: id === defaultId,
      ...(entry?.identity === undefined ? {} : { identity: entry.identity }),
      systemPrompt: entry?.systemPrompt ?? defaults.systemPrompt ?? BUILT_IN_PROMPT,
      models: modelRefs(entry?.model ?? defaults.model),
    };
  };
  const agents = [defaultId, ...ids.filter((id) => id !== defaultId).toSorted()].map(configured);
  return {
    defaultId,
    list: () => agents,
    has: (id) => ids.includes(id),
    settings: (id) => agents.find((agent) => agent.id === id) ?? configured(id),
  };
}
