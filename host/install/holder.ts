/** Who has which id beside what is installed. Pure. */
import type { PluginPlan } from "../kernel/kernel.ts";
import type { PluginFinder, PluginSource } from "../kernel/load.ts";
import { isInstalledSource } from "./sources.ts";

/** @returns in words what has the id, of the bundle or by the configuration */
export function holderOf(id: string, plan: PluginPlan, finder: PluginFinder): string | undefined {
  const loadable = (source: object): source is PluginSource => "load" in source;
  const has = ({ manifest }: PluginSource) => manifest?.id === id;
  const bundled = finder.bundle().filter(loadable).find(has);
  if (bundled) return `${bundled.origin}, which comes with the gateway`;
  const named = plan.sources.filter(loadable).find((source) => has(source) && !isInstalledSource(source));
  return named && `${named.origin}, which the configuration names in plugins.use or plugins.load.paths`;
}
