/** Which plugins a gateway runs, and where: asked for by its starter, by its configuration, and by what is installed. */
import type { ConfigFile } from "./config/file.ts";
import type { PluginsSection } from "./config/host-schema.ts";
import type { Paths } from "./config/paths.ts";
import { hostConfig } from "./config/sections.ts";
import { installedSources } from "./install/sources.ts";
import { placed } from "./isolation/placement.ts";
import type { PluginPlan } from "./kernel/kernel.ts";
import type { MissingPlugin, PluginFinder, PluginSource } from "./kernel/load.ts";
import type { GatewayOptions } from "./options.ts";
import { planPlugins } from "./startup.ts";

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
  const place = (sources: PluginPlan["sources"], { entries = {} }: PluginsSection) =>
    placed(sources, { ...paths, entries });
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
      return own?.origin === id ? place([own], inHost(own, hostConfig(file).config.plugins))[0] : undefined;
    },
  };
}

/** What is being written runs in the gateway unless the operator says otherwise: its own place would make every try slower. */
function inHost(own: PluginSource | MissingPlugin | undefined, section: PluginsSection): PluginsSection {
  const id = own && "load" in own ? own.manifest?.id : undefined;
  if (id === undefined) return section;
  const { entries = {} } = section;
  return { ...section, entries: { ...entries, [id]: { run: "host", ...entries[id] } } };
}
