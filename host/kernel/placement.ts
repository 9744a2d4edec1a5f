/** Where plugins run by their packages, and by the operator. Pure. */
import type { PluginSource } from "./load.ts";
import type { Manifest, Placement } from "./manifest.ts";

/** What the package prefers. Choice: a thread of its own where it was tried there; one that says nothing was made for the host. */
export function preferredPlacement({ isolation }: Pick<Manifest, "isolation">): Placement {
  const { supports = ["host"], default: preferred } = isolation ?? {};
  if (preferred) return preferred;
  return supports.includes("worker") ? "worker" : (supports[0] ?? "host");
}

/** The operator's word counts, else what came with the gateway runs in it, else what the package prefers. */
export function placementOf({ manifest, isBundled }: PluginSource, asked: Placement | undefined): Placement {
  if (!manifest) return "host";
  if (asked) return asked;
  return isBundled ? "host" : preferredPlacement(manifest);
}
