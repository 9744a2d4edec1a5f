/** Determines which plugins a gateway runs, and where, from its options, its configuration and the installed plugins. */
import type { Plugin } from "@svc/sdk";
import type { PlannedPlugins } from "@svc/sdk/plugins";
import type { ConfigFile } from "./config/file.ts";
import type { PluginsSection } from "./config/host-schema.ts";
import type { Paths } from "./config/paths.ts";
import { hostConfig } from "./config/sections.ts";
import { installedSources, isInstalledSource } from "./installed/sources.ts";
import { placed } from "./carriers/placement.ts";
import type { PluginPlan } from "./kernel/plan.ts";
import {
  idOf,
  inlineSource,
  isLoadable,
  type MissingPlugin,
  type PluginFinder,
  type PluginSource,
} from "./kernel/load.ts";
import type { GatewayOptions } from "./options.ts";

export interface Planner {
  /** The plugins selected by this configuration and by what is installed now. */
  plan(file: ConfigFile): PluginPlan;
  /** The plugin under development, if `id` is its id or origin. */
  developed(id: string, file: ConfigFile): PluginSource | MissingPlugin | undefined;
}

export interface PlannerOptions extends Pick<GatewayOptions, "plugins" | "developed"> {
  readonly finder: PluginFinder;
  readonly paths: Paths;
}

export function createPlanner({ finder, paths, plugins: chosen, developed }: PlannerOptions): Planner {
  const place = (sources: PluginPlan["sources"], { entries = {} }: PluginsSection) => placed(sources, entries);
  return {
    plan(file) {
      const section = hostConfig(file).config.plugins;
      const own = developed?.();
      const installed = chosen ? [] : installedSources(paths);
      const { sources, disabled } = planPlugins(finder, section, { chosen, installed, developed: own });
      return { sources: place(sources, inHost(own, section)), disabled };
    },

    developed(id, file) {
      const own = developed?.();
      return own && (own.origin === id || idOf(own) === id)
        ? place([own], inHost(own, hostConfig(file).config.plugins))[0]
        : undefined;
    },
  };
}

/** Runs the plugin under development in the gateway unless configured otherwise: its own thread or process would slow each reload. */
function inHost(own: PluginSource | MissingPlugin | undefined, section: PluginsSection): PluginsSection {
  const id = own && idOf(own);
  if (id === undefined) return section;
  const { entries = {} } = section;
  return { ...section, entries: { ...entries, [id]: { run: "host", ...entries[id] } } };
}

/** What the plan depends on besides the configuration. */
export interface PlanOptions {
  /** Default: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Replaces the plugins named in the configuration. */
  readonly chosen?: readonly (Plugin | string)[] | undefined;
  readonly installed?: readonly (PluginSource | MissingPlugin)[];
  /** Plugin under development: replaces one with the same id. */
  readonly developed?: PluginSource | MissingPlugin | undefined;
}

/**
 * Selects the plugins to load. Their order does not matter: the kernel sorts them.
 * Choice: installed plugins run in addition to `plugins.use`; a bundled or configured plugin takes precedence over an installed one with its id.
 */
export function planPlugins(
  finder: PluginFinder,
  plugins: PluginsSection,
  { chosen, installed = [], developed, env = process.env }: PlanOptions,
): PluginPlan {
  const find = (spec: Plugin | string): PluginSource | MissingPlugin => {
    if (typeof spec !== "string") return inlineSource(spec);
    const found = finder.find(spec);
    return "load" in found ? found : (installed.find((one) => idOf(one) === spec) ?? found);
  };
  const named = chosen ?? plugins.use;
  const sources = named ? named.map(find) : finder.bundle();
  const added = chosen ? [] : (plugins.load?.paths ?? []).map(find);
  const disabled = Object.entries(plugins.entries ?? {}).flatMap(([id, { enabled }]) =>
    enabled === false ? [id] : [],
  );
  const own = [...sources, ...added];
  const isAsked = (id: string, variable: string) => plugins.entries?.[id]?.enabled ?? (env[variable] ?? "") !== "";
  const all = withReplacements([...own, ...unlistedInstalled(installed, own, finder)], finder, isAsked);
  return developed ? instead(developed, all, disabled) : { sources: all, disabled: new Set(disabled) };
}

/**
 * Plugins of the bundle that replace others (`replaces` of the manifest) instead of those. Choice: also where only the other one is listed, so that a gateway
 * never uses a database of its own because of an incomplete list. Choice: only of the bundle, so that no installed plugin removes another one.
 */
function withReplacements(
  sources: readonly (PluginSource | MissingPlugin)[],
  finder: PluginFinder,
  isAsked: (id: string, variable: string) => boolean,
): readonly (PluginSource | MissingPlugin)[] {
  let all = sources;
  for (const source of finder.bundle().filter(isLoadable)) {
    const { id, replaces } = source.manifest ?? {};
    const isListed = all.some((one) => idOf(one) === id);
    if (id === undefined || !replaces || !all.some((one) => idOf(one) === replaces.plugin)) continue;
    const absent = isAsked(id, replaces.env) ? replaces.plugin : id;
    all = all.filter((one) => idOf(one) !== absent);
    if (absent !== id && !isListed) all = [...all, source];
  }
  return all;
}

/** The plugin under development replaces all others of its origin or id, and runs even if that id is disabled. */
function instead(
  developed: PluginSource | MissingPlugin,
  all: readonly (PluginSource | MissingPlugin)[],
  disabled: readonly string[],
): PluginPlan {
  const own = idOf(developed);
  const others = all.filter((source) => source.origin !== developed.origin && (!own || idOf(source) !== own));
  return { sources: [developed, ...others], disabled: new Set(disabled.filter((id) => id !== own)) };
}

/** Installed plugins not already listed; one whose id is already taken is reported as blocked. */
function unlistedInstalled(
  installed: readonly (PluginSource | MissingPlugin)[],
  own: readonly (PluginSource | MissingPlugin)[],
  finder: PluginFinder,
): readonly (PluginSource | MissingPlugin)[] {
  return installed
    .filter((one) => !own.includes(one))
    .map((one) => {
      const id = idOf(one);
      const holder = [...own, ...finder.bundle()].find((other) => "load" in other && idOf(other) === id);
      if (id === undefined || !holder) return one;
      const reason = `its id "${id}" is already used by ${holder.origin}, which takes precedence; next: svc plugins remove ${id}`;
      return { origin: `${id} (${one.origin})`, reason };
    });
}

/** The plan as plain data, without the sections of the configuration. */
export function plannedFacts(
  { sources, disabled }: PluginPlan,
  finder: PluginFinder,
  entries: object = {},
): Omit<PlannedPlugins, "sections"> {
  const missing = sources.filter((source): source is MissingPlugin => !isLoadable(source));
  return {
    missing: missing.map(({ origin, reason }) => ({ origin, reason })),
    disabled: [...disabled],
    configured: Object.keys(entries),
    holderOf(id) {
      const has = ({ manifest }: PluginSource) => manifest?.id === id;
      const bundled = finder.bundle().filter(isLoadable).find(has);
      if (bundled) return `${bundled.origin}, which comes with the gateway`;
      const named = sources.filter(isLoadable).find((source) => has(source) && !isInstalledSource(source));
      return named && `${named.origin}, which the configuration names in plugins.use or plugins.load.paths`;
    },
  };
}
