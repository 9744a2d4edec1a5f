/** The plugins a start would load, from a configuration that may be wrong in any way. Runs none of them. */
import { matches } from "@svc/sdk";
import type { PlannedPlugins } from "@svc/sdk/plugins";
import {
  createPluginFinder,
  idOf,
  installedSources,
  isLoadable,
  type MissingPlugin,
  placementOf,
  plannedFacts,
  planPlugins,
  type PluginPlan,
  type PluginSource,
  PluginsSection,
  sectionOf,
  valueAt,
} from "@svc/host/local";
import { type ConfigFile, type Paths, readConfigFile, resolvePaths } from "@svc/host/state";

/** A section of a wrong shape counts as absent here; `svc config validate` says what is wrong with it. */
export function pluginsSection({ resolved }: ConfigFile): PluginsSection {
  const section = sectionOf(resolved, "plugins");
  return matches(PluginsSection, section) ? section : {};
}

/** The plugins of this machine, in use or not. */
export interface PluginsHere extends PluginPlan {
  readonly paths: Paths;
  readonly file: ConfigFile;
  readonly section: PluginsSection;
  /** Plugins of the bundle, whether a start would load them or not. */
  readonly bundle: readonly (PluginSource | MissingPlugin)[];
  readonly planned: Omit<PlannedPlugins, "sections">;
}

/** Reads the configuration and the record of installed plugins that the environment names. */
export async function pluginsHere(): Promise<PluginsHere> {
  const paths = resolvePaths();
  const file = await readConfigFile(paths.configPath, process.env);
  const finder = createPluginFinder(paths);
  const plan = plannedPlugins(file, paths);
  const entries = valueAt(sectionOf(file.resolved, "plugins"), ["entries"]);
  const planned = plannedFacts(plan, finder, Object(entries) as object);
  return { ...plan, paths, file, section: pluginsSection(file), bundle: finder.bundle(), planned };
}

/** They say where they would run; here they run nowhere. */
export function plannedPlugins(file: ConfigFile, paths: Paths): PluginPlan {
  const plugins = pluginsSection(file);
  const { sources, disabled } = planPlugins(createPluginFinder(paths), plugins, { installed: installedSources(paths) });
  return { sources: sources.map((source) => withPlacement(source, plugins)), disabled };
}

function withPlacement(source: PluginSource | MissingPlugin, { entries = {} }: PluginsSection) {
  const id = idOf(source);
  if (!isLoadable(source) || id === undefined) return source;
  const run = Object.hasOwn(entries, id) ? entries[id]?.run : undefined;
  return { ...source, placement: placementOf(source, run) };
}
