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
      const { sources, disabled } = planPlugins(finder, section, {
        chosen,
        installed: chosen ? [] : installedSources(paths),
        developed: inHost(developed?.()),
      });
      return { sources: place(sources, section), disabled };
    },

    developed(id, file) {
      const found = inHost(developed?.());
      return found?.origin === id ? place([found], hostConfig(file).config.plugins)[0] : undefined;
    },
  };
}

/** What is being written runs in the gateway unless the operator says otherwise: its own place would make every try slower. */
function inHost(source: PluginSource | MissingPlugin | undefined): PluginSource | MissingPlugin | undefined {
  return source && "load" in source ? { ...source, isBundled: true } : source;
}
