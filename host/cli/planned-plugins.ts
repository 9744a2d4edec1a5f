/** The plugins a start would load, from a configuration that may be wrong in any way. Runs none of them. */
import { matches } from "@svc/sdk";
import type { ConfigFile } from "../config/file.ts";
import { PluginsSection } from "../config/host-schema.ts";
import type { Paths } from "../config/paths.ts";
import { sectionOf } from "../config/sections.ts";
import type { PluginPlan } from "../kernel/plan.ts";
import { installedSources } from "../install/sources.ts";
import { createPluginFinder, idOf, isLoadable, type MissingPlugin, type PluginSource } from "../kernel/load.ts";
import { placementOf } from "../kernel/placement.ts";
import { planPlugins } from "../plugin-plan.ts";

/** A section of a wrong shape counts as absent here; `svc config validate` says what is wrong with it. */
export function pluginsSection({ resolved }: ConfigFile): PluginsSection {
  const section = sectionOf(resolved, "plugins");
  return matches(PluginsSection, section) ? section : {};
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
