/** Decides where a plugin runs, from its package and the operator's setting. Pure. */
import type { PluginSource } from "./load.ts";
import type { Manifest, Placement } from "./manifest.ts";

/** The placement the package prefers. Choice: `worker` if the package supports it; a package without `isolation` runs in the host. */
export function preferredPlacement({ isolation }: Pick<Manifest, "isolation">): Placement {
  const { supports = ["host"], default: preferred } = isolation ?? {};
  if (preferred) return preferred;
  return supports.includes("worker") ? "worker" : (supports[0] ?? "host");
}

/** The operator's setting wins; without one, bundled plugins run in the host, others where their package prefers. */
export function placementOf({ manifest, isBundled }: PluginSource, asked: Placement | undefined): Placement {
  if (!manifest) return "host";
  if (asked) return asked;
  return isBundled ? "host" : preferredPlacement(manifest);
}
