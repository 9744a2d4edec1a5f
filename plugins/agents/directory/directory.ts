/** The agents and their settings, derived from the configuration alone. */
import { normalizeId } from "@svc/kit/agent-address";
import { machineZone } from "@svc/kit/time";
import { type GatewayError, misconfigured } from "@svc/sdk";
import type { AgentDirectory, AgentInfo, MediaDefaults } from "@svc/sdk/agents";
import { refusal } from "@svc/sdk/errors";
import type { HeartbeatSettings } from "@svc/sdk/heartbeat";
import type { MemorySearch } from "@svc/sdk/memory";
import type { ModelPolicy } from "@svc/sdk/models";
import { isSecretRef } from "@svc/sdk/secrets";
import type { AgentsConfig, ModelSetting } from "../config.ts";
import { expandPath, type Places, workspaceOf } from "./workspace.ts";

/** Choice: used when neither the agent nor the defaults set a prompt. */
const BUILT_IN_PROMPT =
  "You are a helpful assistant that people reach through a chat gateway. Answer in the language you are written to. " +
  "Use the tools you are offered where they help, and say so when something cannot be done.";

/** Spec: http/sessions-routing.md §7.1. */
const NORMAL_HEARTBEAT: HeartbeatSettings = {
  every: "30m",
  target: "none",
  session: "main",
  ackMaxChars: 300,
  includeReasoning: false,
  directPolicy: "allow",
  lightContext: false,
};

type AgentEntry = NonNullable<AgentsConfig["list"]>[number];

/** How an agent presents itself. Spec: protocol/methods-agent.md §4. */
export type Identity = NonNullable<AgentEntry["identity"]>;

/** One agent with all the settings a run needs. */
export interface AgentSettings extends AgentInfo {
  readonly identity?: Identity;
  readonly subagents?: NonNullable<AgentEntry["subagents"]>;
  /** Its own `agentDir`, absolute. */
  readonly agentDir?: string;
  readonly systemPrompt: string;
  /** Model references to try in order; empty: the default of the plugin `models`. */
  readonly models: readonly string[];
}

export interface ConfiguredAgents extends AgentDirectory {
  list(): readonly AgentSettings[];
  /** Choice: an unknown id gets the defaults, so that a run accepted before its agent was removed can still end. */
  settings(id: string): AgentSettings;
  /** The current section `agents`. */
  readonly config: AgentsConfig;
  /** Whether the configuration has a list; without one there is only the built-in agent `main`. */
  readonly isConfigured: boolean;
}

/** A directory whose settings can be replaced while other code holds a reference to it. */
export interface LiveAgents extends ConfiguredAgents {
  /** @throws SetupOutcome as `createDirectory`; the former settings then stay in effect */
  replace(config: AgentsConfig): void;
}

/** References of a setting, in order. */
export function refsOf(setting: ModelSetting | undefined): readonly string[] {
  if (setting === undefined) return [];
  return typeof setting === "string" ? [setting] : [setting.primary, ...(setting.fallbacks ?? [])];
}

/**
 * The default agent is the first with `default: true`, else the first, else `main`. Spec: http/sessions-routing.md §1.
 * @throws SetupOutcome `misconfigured` when two agents have the same id
 */
export function createDirectory(config: AgentsConfig, places: () => Places): ConfiguredAgents {
  const { defaults, list } = config;
  const entries: readonly AgentEntry[] = list && list.length > 0 ? list : [{ id: "main" }];
  const ids = entries.map(({ id }) => normalizeId(id));
  const repeated = ids.findIndex((id, index) => ids.indexOf(id) !== index);
  if (repeated >= 0) misconfigured(`/list/${repeated}/id`, `two agents have the id "${ids[repeated]}"; rename one`);

  const defaultIndex = Math.max(
    0,
    entries.findIndex((entry) => entry.default === true),
  );
  const defaultId = ids[defaultIndex] ?? "main";
  const configured = (id: string): AgentSettings => {
    const entry = entries[ids.indexOf(id)];
    const isDefault = id === defaultId;
    return {
      id,
      ...(entry?.name === undefined ? {} : { name: entry.name }),
      isDefault,
      workspace: workspaceOf({ id, isDefault }, entry, defaults, places()),
      ...(entry?.identity === undefined ? {} : { identity: entry.identity }),
      ...(entry?.agentDir === undefined ? {} : { agentDir: expandPath(entry.agentDir, places()) }),
      ...(entry?.subagents === undefined ? {} : { subagents: entry.subagents }),
      systemPrompt: entry?.systemPrompt ?? defaults.systemPrompt ?? BUILT_IN_PROMPT,
      models: refsOf(entry?.model ?? defaults.model),
    };
  };
  const hasOwn = entries.some(({ heartbeat }) => heartbeat !== undefined);
  let agents: readonly AgentSettings[] | undefined;
  // Computed on first use: the state directory is only known once the plugin has started.
  const all = () => (agents ??= [defaultId, ...ids.filter((id) => id !== defaultId).toSorted()].map(configured));
  return {
    defaultId,
    config,
    isConfigured: list !== undefined && list.length > 0,
    list: all,
    has: (id) => ids.includes(id),
    toolPolicy: (id) => entries[ids.indexOf(id)]?.tools,
    heartbeat(id) {
      const beats = hasOwn ? entries[ids.indexOf(id)]?.heartbeat !== undefined : id === defaultId;
      return beats ? { ...NORMAL_HEARTBEAT, ...defaults.heartbeat, ...entries[ids.indexOf(id)]?.heartbeat } : undefined;
    },
    skills: (id) => entries[ids.indexOf(id)]?.skills,
    memorySearch: (id) => mergeMemorySearch(defaults.memorySearch, entries[ids.indexOf(id)]?.memorySearch),
    media: mediaDefaults(defaults),
    timeZone: defaults.userTimezone ?? machineZone(),
    maxSpawnDepth: defaults.subagents.maxSpawnDepth,
    settings: (id) => all().find((agent) => agent.id === id) ?? configured(id),
  };
}

function mediaDefaults(defaults: AgentsConfig["defaults"]): MediaDefaults {
  const { imageModel, pdfModel, pdfMaxBytesMb, pdfMaxPages, mediaMaxMb } = defaults;
  return {
    imageModels: refsOf(imageModel),
    pdfModels: refsOf(pdfModel),
    ...(pdfMaxBytesMb === undefined ? {} : { pdfMaxBytesMb }),
    ...(pdfMaxPages === undefined ? {} : { pdfMaxPages }),
    ...(mediaMaxMb === undefined ? {} : { mediaMaxMb }),
  };
}

/** @throws SetupOutcome as `createDirectory` */
export function createLiveAgents(config: AgentsConfig, places: () => Places): LiveAgents {
  const live: LiveAgents = {
    ...createDirectory(config, places),
    // `createDirectory` sets every field, so no former setting remains.
    replace: (next) => void Object.assign(live, createDirectory(next, places)),
  };
  return live;
}

/** Normalized id of the agent that a caller names. Stricter than `normalizeId`: empty, not `main`, for a text without a letter or digit. */
export function meantAgentId(text: string): string {
  return /[a-z0-9]/i.test(text) ? normalizeId(text) : "";
}

export function unknownAgent(text: string): GatewayError {
  return refusal("UNKNOWN_AGENT", `no agent "${text}"; agents.list shows the configured ones`);
}

/** The agent that a caller names. @throws GatewayError `NOT_FOUND` */
export function findAgent(text: string, agents: ConfiguredAgents): AgentSettings {
  const id = meantAgentId(text);
  if (!agents.has(id)) throw unknownAgent(text);
  return agents.settings(id);
}

/** Overrides the defaults with the agent's own settings, key by key; a list or a secret reference counts as one value. */
export function mergeMemorySearch(defaults: MemorySearch = {}, own: MemorySearch = {}): MemorySearch {
  return merged(defaults, own) as MemorySearch; // merging two values of this shape key by key keeps the shape
}

function merged(below: unknown, above: unknown): unknown {
  if (!isPlain(below) || !isPlain(above)) return above === undefined ? below : above;
  const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(below[key], above[key])]));
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isSecretRef(value);
}

/**
 * The `ModelPolicy` service: `agents.defaults.models`, and the first model of each agent.
 * Choice: an empty map restricts nothing, like a missing key, since it would leave no model to use.
 */
export function createModelPolicy(agents: Pick<ConfiguredAgents, "config" | "settings" | "defaultId">): ModelPolicy {
  return {
    allowed() {
      const entries = Object.entries(agents.config.defaults.models ?? {});
      if (entries.length === 0) return undefined;
      return new Map(entries.map(([ref, { alias }]) => [ref, alias === undefined ? {} : { alias }]));
    },
    primary: (agentId = agents.defaultId) => agents.settings(agentId).models[0],
  };
}
