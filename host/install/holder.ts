/** Who has which id beside what is installed. Pure. */
import type { PluginPlan } from "../kernel/plan.ts";
import { isLoadable, type PluginFinder, type PluginSource } from "../kernel/load.ts";
import { isInstalledSource } from "./sources.ts";

/** @returns in words what has the id, of the bundle or by the configuration */
export function holderOf(id: string, plan: PluginPlan, finder: PluginFinder): string | undefined {
  const has = ({ manifest }: PluginSource) => manifest?.id === id;
  const bundled = finder.bundle().filter(isLoadable).find(has);
  if (bundled) return `${bundled.origin}, which comes with the gateway`;
  const named = plan.sources.filter(isLoadable).find((source) => has(source) && !isInstalledSource(source));
  return named && `${named.origin}, which the configuration names in plugins.use or plugins.load.paths`;
}
