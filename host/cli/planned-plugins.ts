/** The plugins a start would load, from a configuration that may be wrong in any way. Runs none of them. */
import { matches } from "@svc/sdk";
import type { ConfigFile } from "../config/file.ts";
import { PluginsSection } from "../config/host-schema.ts";
import type { Paths } from "../config/paths.ts";
import { sectionOf } from "../config/sections.ts";
import type { PluginPlan } from "../kernel/kernel.ts";
import { installedSources } from "../install/sources.ts";
import { createPluginFinder } from "../kernel/load.ts";
import { planPlugins } from "../startup.ts";

/** A section of a wrong shape counts as absent here; `svc config validate` says what is wrong with it. */
export function plannedPlugins({ resolved }: ConfigFile, paths: Paths): PluginPlan {
  const { configDir, cacheDir, home } = paths;
  const section = sectionOf(resolved, "plugins");
  const finder = createPluginFinder({ configDir, cacheDir, home });
  return planPlugins(finder, matches(PluginsSection, section) ? section : {}, undefined, installedSources(paths));
}
