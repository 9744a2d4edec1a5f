/** Where plugins run: what their packages can do and prefer, and what the operator says. */
import type { MissingPlugin, PluginSource } from "../kernel/load.ts";
import type { Placement } from "../kernel/manifest.ts";
import { placementOf } from "../kernel/placement.ts";

/** `plugins.entries.<id>`, as far as it is about where and when the plugin runs. */
export interface PlacementEntry {
  readonly run?: Placement;
  /** When its code is imported. Default `use`: when it is needed, where that is possible. */
  readonly wake?: "use" | "start";
  /** MiB of heap in a thread or process of its own. Default 256. */
  readonly memoryMb?: number;
}

/** MiB of heap for a plugin that runs by itself. */
export const DEFAULT_MEMORY_MB = 256;

/** The same sources, those that run elsewhere marked as such. */
export function placed(
  sources: readonly (PluginSource | MissingPlugin)[],
  entries: Readonly<Record<string, PlacementEntry>>,
): (PluginSource | MissingPlugin)[] {
  return sources.map((source) => {
    if (!("load" in source) || !source.manifest) return source;
    const { id } = source.manifest;
    const { run, wake, memoryMb = DEFAULT_MEMORY_MB } = Object.hasOwn(entries, id) ? (entries[id] ?? {}) : {};
    const placement = placementOf(source, run);
    const woken = wake === "start" ? { ...source, key: `${source.key} awake`, isAwake: true } : source;
    return placement === "host" ? woken : elsewhere(woken, { placement, memoryMb });
  });
}

function elsewhere(source: PluginSource, place: NonNullable<PluginSource["elsewhere"]>): PluginSource {
  const again = () => {
    const found = source.again?.() ?? source;
    return "load" in found ? elsewhere(found, place) : found;
  };
  return {
    ...source,
    key: `${source.key} in a ${place.placement} of ${place.memoryMb} MiB`,
    elsewhere: place,
    ...(source.again ? { again } : {}),
  };
}
