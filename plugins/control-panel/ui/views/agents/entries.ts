/** The agents as the configuration has them, and changes of it. */
import type { ResultOf } from "@svc/sdk";
import type { agents } from "@svc/sdk/agents";
import { config } from "@svc/sdk/config";
import type { ViewContext } from "../../core/app.ts";

export type AgentRow = ResultOf<typeof agents.list>["agents"][number];

/** A model, alone or with fallbacks. */
export type ModelSetting = string | { readonly primary: string; readonly fallbacks?: readonly string[] };

export interface ToolRules {
  readonly profile?: string;
  readonly allow?: readonly string[];
  readonly alsoAllow?: readonly string[];
  readonly deny?: readonly string[];
}

/** An entry of `agents.list`, as far as the panel shows it. */
export interface AgentEntry {
  readonly id: string;
  readonly name?: string;
  readonly workspace?: string;
  readonly model?: ModelSetting;
  readonly identity?: { readonly name?: string; readonly emoji?: string; readonly theme?: string };
  readonly tools?: ToolRules;
  readonly skills?: readonly string[];
}

/** What the panel reads of the configuration. */
export interface Settings {
  /** Of the file, for the next change. */
  readonly hash: string;
  readonly entries: readonly AgentEntry[];
  readonly defaultModel?: ModelSetting;
  readonly tools: ToolRules;
}

export async function loadSettings(context: ViewContext): Promise<Settings> {
  const { config: all, hash } = await context.call(config.get, {});
  const { agents: section, tools } = Object(all) as {
    readonly agents?: { readonly list?: readonly AgentEntry[]; readonly defaults?: { readonly model?: ModelSetting } };
    readonly tools?: ToolRules;
  };
  const model = section?.defaults?.model;
  return {
    hash,
    entries: section?.list ?? [],
    tools: tools ?? {},
    ...(model === undefined ? {} : { defaultModel: model }),
  };
}

/** The entry of an agent. The gateway compares ids without regard to case and to characters that ids cannot have. */
export function entryOf({ entries }: Pick<Settings, "entries">, id: string): AgentEntry | undefined {
  return entries.find((entry) => idOf(entry.id) === id);
}

/** Whether the agent runs: it is listed, or the built-in one. */
export function isConfigured(settings: Pick<Settings, "entries">, id: string): boolean {
  return entryOf(settings, id) !== undefined || (settings.entries.length === 0 && id === "main");
}

function idOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^[-_]+|-+$/g, "")
    .slice(0, 64);
}

/** References in order. */
export function refsOf(setting: ModelSetting | undefined): readonly string[] {
  if (setting === undefined) return [];
  return typeof setting === "string" ? [setting] : [setting.primary, ...(setting.fallbacks ?? [])];
}

/** @throws GatewayError if the configuration changed since `settings` were loaded */
export async function patchAgent(
  context: ViewContext,
  settings: Settings,
  id: string,
  change: Readonly<Record<string, unknown>>,
): Promise<void> {
  // A list in which every entry has an id is merged by id.
  await patch(context, settings, { agents: { list: [{ id: entryOf(settings, id)?.id ?? id, ...change }] } });
}

/** As `patchAgent`, for `agents.defaults`. */
export async function patchDefaults(
  context: ViewContext,
  settings: Settings,
  change: Readonly<Record<string, unknown>>,
): Promise<void> {
  await patch(context, settings, { agents: { defaults: change } });
}

async function patch(context: ViewContext, { hash }: Settings, change: object): Promise<void> {
  await context.call(config.patch, { raw: JSON.stringify(change), baseHash: hash });
}

/** What the gateway says about one agent. */
export interface AgentFacts {
  readonly row: AgentRow;
  readonly isDefault: boolean;
  readonly workspace: string;
  readonly files: readonly { readonly name: string; readonly missing: boolean; readonly size?: number }[];
}

/** What a tab of an agent works with. */
export interface AgentTab {
  readonly context: ViewContext;
  readonly id: string;
  /** Name for people. */
  readonly name: () => string;
  readonly settings: () => Settings;
  readonly facts: () => AgentFacts;
  /** Loads the facts about the agent again. */
  readonly reload: () => Promise<void>;
}
