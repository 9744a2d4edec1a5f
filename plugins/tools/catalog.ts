/** The catalogue of all tools: core tools in their fixed order, then those of each plugin. Pure. Spec: protocol/methods-models.md §2. */
import type { ResultOf } from "@svc/sdk";
import type { ToolProfile, tools } from "@svc/sdk/tools";
import { CORE_GROUPS, PROFILES } from "./names.ts";
import { factsOf } from "./policies.ts";
import type { Policy } from "./policy.ts";
import type { KnownTool } from "./shelf.ts";

type Catalog = ResultOf<typeof tools.catalog>;
type Group = Catalog["groups"][number];
type Entry = Group["tools"][number];

const LABELS: readonly { readonly id: ToolProfile; readonly label: string }[] = [
  { id: "minimal", label: "Minimal" },
  { id: "coding", label: "Coding" },
  { id: "messaging", label: "Messaging" },
  { id: "full", label: "Full" },
];

const IN_CATALOG: ReadonlySet<string> = new Set(CORE_GROUPS.flatMap(({ tools: names }) => names));

/** Choice: independent of the policy, which differs by session and model; empty groups are left out. */
export function catalogOf(known: readonly KnownTool[], agentId: string, includePlugins: boolean): Catalog {
  const groups = includePlugins ? [...coreGroups(known), ...pluginGroups(known)] : coreGroups(known);
  return { agentId, profiles: [...LABELS], groups };
}

/** Adds to each tool of the catalogue what the policy decides about it. */
export function withVerdicts(catalog: Catalog, known: readonly KnownTool[], policy: Pick<Policy, "judge">): Catalog {
  const byName = new Map(known.map((one) => [one.name, one]));
  const judged = (entry: Entry): Entry => {
    const one = byName.get(entry.id);
    return one ? { ...entry, verdict: policy.judge(factsOf(one)) } : entry;
  };
  return { ...catalog, groups: catalog.groups.map((group) => ({ ...group, tools: group.tools.map(judged) })) };
}

function coreGroups(known: readonly KnownTool[]): Group[] {
  return CORE_GROUPS.map(({ id, label, tools: names }): Group => {
    const found = names.flatMap((name) => known.find((one) => one.name === name) ?? []);
    return { id, label, source: "core", tools: found.map(coreEntry) };
  }).filter(isFilled);
}

function coreEntry({ name, tool: { description } }: KnownTool): Entry {
  const defaultProfiles = [...PROFILES].filter(([, names]) => names.includes(name)).map(([profile]) => profile);
  return { id: name, label: name, description, source: "core", defaultProfiles };
}

function pluginGroups(known: readonly KnownTool[]): Group[] {
  const others = known.filter(({ name }) => !IN_CATALOG.has(name));
  const plugins = [...new Set(others.map(({ contribution }) => contribution.plugin))].toSorted();
  return plugins.map((plugin): Group => {
    const own = others.filter(({ contribution }) => contribution.plugin === plugin);
    const entries = own.map(pluginEntry).toSorted((left, right) => (left.id < right.id ? -1 : 1));
    return { id: `plugin:${plugin}`, label: plugin, source: "plugin", pluginId: plugin, tools: entries };
  });
}

function pluginEntry({ name, tool, contribution }: KnownTool): Entry {
  return {
    id: name,
    label: tool.label ?? name,
    description: tool.description,
    source: "plugin",
    pluginId: contribution.plugin,
    ...(tool.optional === true ? { optional: true } : {}),
    defaultProfiles: [],
  };
}

function isFilled({ tools: entries }: Group): boolean {
  return entries.length > 0;
}
