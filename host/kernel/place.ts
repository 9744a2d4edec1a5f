/** Where a plugin's code runs, as far as the host knows it. */
import type { Plugin } from "@svc/sdk";
import type { Placement } from "./manifest.ts";

/** A thread or process of a plugin's own. */
export interface Place {
  readonly placement: Exclude<Placement, "host">;
  /** What it holds now, in bytes; `undefined`: not known. */
  memoryBytes(): number | undefined;
}

/** A plugin whose code runs in a place of its own; what the host holds stands in for it. */
export interface PlacedPlugin extends Plugin {
  readonly place: Place;
}

/** `undefined`: its code runs here. */
export function placeOf(plugin: Plugin | PlacedPlugin | undefined): Place | undefined {
  return plugin && "place" in plugin ? plugin.place : undefined;
}
