/** The plugins a start would load, from a configuration that may be wrong in any way. Runs none of them. */
import { matches } from "@svc/sdk";
import type { ConfigFile } from "../config/file.ts";
import { PluginsSection } from "../config/host-schema.ts";
import type { Paths } from "../config/paths.ts";
import { sectionOf } from "../config/sections.ts";
import type { PluginPlan } from "../kernel/kernel.ts";
import { installedSources } from "../install/sources.ts";
import { createPluginFinder } from "../kernel/load.ts";
import { placementOf } from "../kernel/placement.ts";
import { planPlugins } from "../startup.ts";

/** A section of a wrong shape counts as absent here; `svc config validate` says what is wrong with it. */
export function pluginsSection({ resolved }: ConfigFile): PluginsSection {
  const section = sectionOf(resolved, "plugins");
  return matches(PluginsSection, section) ? section : {};
}

/** They say where they would run; here they run nowhere. */
export function plannedPlugins(file: ConfigFile, paths: Paths): PluginPlan {
  const { configDir, cacheDir, home } = paths;
  const plugins = pluginsSection(file);
  const finder = createPluginFinder({ configDir, cacheDir, home });
  const { sources, disabled } = planPlugins(finder, plugins, { installed: installedSources(paths) });
  const shown = sources.map((source) => {
    const id = "load" in source ? source.manifest?.id : undefined;
    if (!("load" in source) || id === undefined) return source;
    return { ...source, placement: placementOf(source, own(plugins.entries, id)?.run) };
  });
  return { sources: shown, disabled };
}

function own<T>(entries: Readonly<Record<string, T>> = {}, id: string): T | undefined {
  return Object.hasOwn(entries, id) ? entries[id] : undefined;
}
