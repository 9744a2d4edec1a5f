/** Which plugins a gateway runs, and where: asked for by its starter, by its configuration, and by what is installed. */
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
  /** What this configuration and what is installed ask for now. */
  plan(file: ConfigFile): PluginPlan;
  /** The one that is being written, as it is now, when `id` or what names it is its. */
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

/** What is being written runs in the gateway unless the operator says otherwise: its own place would make every try slower. */
function inHost(own: PluginSource | MissingPlugin | undefined, section: PluginsSection): PluginsSection {
  const id = own && idOf(own);
  if (id === undefined) return section;
  const { entries = {} } = section;
  return { ...section, entries: { ...entries, [id]: { run: "host", ...entries[id] } } };
}

/** Where plugins come from beside the configuration. */
export interface PlanOptions {
  /** Instead of those the configuration names. */
  readonly chosen?: readonly (Plugin | string)[] | undefined;
  readonly installed?: readonly (PluginSource | MissingPlugin)[];
  /** Being written: runs in the place of one with its id. */
  readonly developed?: PluginSource | MissingPlugin | undefined;
}

/**
 * Which plugins to load. Order does not matter: the kernel sorts.
 * Choice: installed plugins run beside `plugins.use`; an id that the bundle or the configuration has is never an installed one's.
 */
export function planPlugins(
  finder: PluginFinder,
  plugins: PluginsSection,
  { chosen, installed = [], developed }: PlanOptions,
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
  const all = [...own, ...besideThem(installed, own, finder)];
  return developed ? instead(developed, all, disabled) : { sources: all, disabled: new Set(disabled) };
}

/** What is being written goes before all others of its name or id, and runs though that id is switched off. */
function instead(
  developed: PluginSource | MissingPlugin,
  all: readonly (PluginSource | MissingPlugin)[],
  disabled: readonly string[],
): PluginPlan {
  const own = idOf(developed);
  const others = all.filter((source) => source.origin !== developed.origin && (!own || idOf(source) !== own));
  return { sources: [developed, ...others], disabled: new Set(disabled.filter((id) => id !== own)) };
}

/** Installed plugins that are not named anyway; those whose id is taken as what they are: blocked. */
function besideThem(
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
      const reason = `its id "${id}" is that of ${holder.origin}, which goes first; next: svc plugins remove ${id}`;
      return { origin: `${id} (${one.origin})`, reason };
    });
}

/** The plan in plain data, without the sections of the configuration. */
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
