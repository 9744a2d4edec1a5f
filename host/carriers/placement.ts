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

/** What has no package is imported by the gateway to be known at all. */
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
