/** Finds the plugin that declares a missing name and does not run: installed and not in use, or failed. */
import type { AbsentPlugin, Kernel } from "./kernel.ts";
import type { AnyKind } from "./kind.ts";
import { isListed } from "./listing.ts";
import { contributionName, contributions } from "./kinds/contributions.ts";
import { methods } from "./kinds/methods.ts";
import type { PluginFinder } from "./load.ts";

/** A plugin of the bundle that lists the name and that this gateway does not load. */
function unloaded(kind: AnyKind, name: string, kernel: Kernel, finder: PluginFinder): AbsentPlugin | undefined {
  const running = new Set(kernel.reports().map(({ id }) => id)); // a name that such a plugin lists and does not have is unknown
  for (const source of finder.bundle()) {
    const manifest = "load" in source ? source.manifest : undefined;
    if (!manifest || !isListed(kind, manifest, name) || running.has(manifest.id)) continue;
    const { id, version } = manifest;
    return { id, version, state: "disabled", reason: "add it to plugins.use", generation: 0, errors: 0, inert: [] };
  }
  return undefined;
}

/** The plugin that declares the method and does not run. */
export function absentProvider(method: string, kernel: Kernel, finder: PluginFinder): AbsentPlugin | undefined {
  return kernel.absent(methods, method) ?? unloaded(methods, method, kernel, finder);
}

/** Why a name cannot be used. */
export interface Absence {
  /** Names the plugin that has it, and the next step. */
  readonly message: string;
  /** Milliseconds until the gateway tries by itself to run the plugin; absent: it does not. */
  readonly retryAfterMs?: number;
}

/** About the plugin that has this contribution and does not run; `undefined`: no known plugin has it. */
export function absentContribution(
  what: string,
  point: string,
  id: string,
  kernel: Kernel,
  finder: PluginFinder,
): Absence | undefined {
  const name = contributionName(point, id);
  const plugin = kernel.absent(contributions, name) ?? unloaded(contributions, name, kernel, finder);
  if (!plugin) return undefined;
  const { id: owner, state, reason, retryAfterMs } = plugin;
  const why = reason === undefined ? "" : ` (${reason})`;
  return {
    message: `the ${what} "${id}" is provided by plugin ${owner}, which is ${state}${why}; see: svc plugins why ${owner}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}
