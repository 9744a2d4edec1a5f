/** Applies the placement of each plugin, from its package and the operator's settings. */
import type { MissingPlugin, PluginSource } from "../kernel/load.ts";
import type { Placement } from "../kernel/manifest.ts";
import { placementOf } from "../kernel/placement.ts";

/** The keys of `plugins.entries.<id>` that determine where and when the plugin runs. */
export interface PlacementEntry {
  readonly run?: Placement;
  /** When its code is imported. Default `use`: on first use, if the plugin can sleep. */
  readonly wake?: "use" | "start";
  /** Heap limit in its own thread or process. MiB. Default 256. */
  readonly memoryMb?: number;
}

/** Heap limit of a plugin in its own thread or process. MiB */
export const DEFAULT_MEMORY_MB = 256;

/** Returns the sources with their placements applied. */
export function placed(
  sources: readonly (PluginSource | MissingPlugin)[],
  entries: Readonly<Record<string, PlacementEntry>>,
): (PluginSource | MissingPlugin)[] {
  return sources.map((source) => {
    if (!("load" in source)) return source;
    if (!source.manifest) return withoutPackage(source, (id) => refusalInHost(entries, id));
    const { id } = source.manifest;
    const { run, wake, memoryMb = DEFAULT_MEMORY_MB } = Object.hasOwn(entries, id) ? (entries[id] ?? {}) : {};
    const placement = placementOf(source, run);
    const woken = wake === "start" ? { ...source, key: `${source.key} awake`, isAwake: true } : source;
    return placement === "host" ? woken : elsewhere(woken, { placement, memoryMb });
  });
}

function withoutPackage(source: PluginSource, refuse: NonNullable<PluginSource["refuse"]>): PluginSource {
  const { again } = source;
  if (!again) return { ...source, refuse };
  const anew = () => {
    const found = again();
    return "load" in found ? withoutPackage(found, refuse) : found;
  };
  return { ...source, refuse, again: anew };
}

/** A plugin without a package has to run in the gateway: only its import reveals its id. */
function refusalInHost(entries: Readonly<Record<string, PlacementEntry>>, id: string): string | undefined {
  const run = Object.hasOwn(entries, id) ? entries[id]?.run : undefined;
  if (run === undefined || run === "host") return undefined;
  return `plugins.entries.${id}.run is ${run}, but a plugin without a package can only run in the gateway; make it a package (svc plugins new ${id}), or run: svc config unset plugins.entries.${id}.run`;
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
