/** Plugins that would do what is asked and do not run: installed and not asked for, or not well. */
import type { PluginReport } from "@svc/sdk/plugins";
import type { AbsentPlugin, Kernel } from "./kernel.ts";
import type { AnyKind } from "./kind.ts";
import { isListed } from "./listing.ts";
import { contributionName, contributions } from "./kinds/contributions.ts";
import { methods } from "./kinds/methods.ts";
import type { PluginFinder } from "./load.ts";

/** An installed plugin of the bundle that this gateway was not asked to load. */
function unloaded(kind: AnyKind, name: string, kernel: Kernel, finder: PluginFinder): PluginReport | undefined {
  const running = new Set(kernel.reports().map(({ id }) => id)); // what one of these does not have is just unknown
  for (const source of finder.bundle()) {
    const manifest = "load" in source ? source.manifest : undefined;
    if (!manifest || !isListed(kind, manifest, name) || running.has(manifest.id)) continue;
    const { id, version } = manifest;
    return { id, version, state: "disabled", reason: "add it to plugins.use", generation: 0, errors: 0, inert: [] };
  }
  return undefined;
}

/** The plugin that would serve the method. */
export function absentProvider(method: string, kernel: Kernel, finder: PluginFinder): AbsentPlugin | undefined {
  return kernel.absentProvider(method) ?? unloaded(methods, method, kernel, finder);
}

/** Who has this contribution and does not run, in a sentence with the next step; `undefined`: nobody that is known. */
export function absentContribution(
  what: string,
  point: string,
  id: string,
  kernel: Kernel,
  finder: PluginFinder,
): string | undefined {
  const name = contributionName(point, id);
  const plugin = kernel.absent(contributions, name) ?? unloaded(contributions, name, kernel, finder);
  if (!plugin) return undefined;
  const why = plugin.reason === undefined ? "" : ` (${plugin.reason})`;
  return `the ${what} "${id}" is provided by plugin ${plugin.id}, which is ${plugin.state}${why}; see: svc plugins why ${plugin.id}`;
}
