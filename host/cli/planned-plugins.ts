/** The plugins a start would load, read from a configuration that may be invalid. Runs none of them. */
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

/** An invalid section counts as absent here; `svc config validate` reports the error. */
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

/** Reads the configuration and the record of installed plugins; the environment determines their paths. */
export async function pluginsHere(): Promise<PluginsHere> {
  const paths = resolvePaths();
  const file = await readConfigFile(paths.configPath, process.env);
  const finder = createPluginFinder(paths);
  const plan = plannedPlugins(file, paths);
  const entries = valueAt(sectionOf(file.resolved, "plugins"), ["entries"]);
  const planned = plannedFacts(plan, finder, Object(entries) as object);
  return { ...plan, paths, file, section: pluginsSection(file), bundle: finder.bundle(), planned };
}

/** Each source states where it would run; none is run here. */
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
