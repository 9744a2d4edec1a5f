/** Compares the plugins a gateway should run with those it has. Pure. */
import type { PluginInstance } from "./instance.ts";
import { idOf, type MissingPlugin, type PluginSource } from "./load.ts";

/** The plugins to run. */
export interface PluginPlan {
  readonly sources: readonly (PluginSource | MissingPlugin)[];
  /** Ids of plugins that an operator disabled. */
  readonly disabled: ReadonlySet<string>;
}

export interface PlanChanges {
  /** Plugins that are no longer in the plan. */
  readonly gone: readonly PluginInstance[];
  /** Plugins that an operator has disabled since. */
  readonly disabled: readonly PluginInstance[];
  /** Plugins with another source or placement, and plugins enabled again. */
  readonly changed: readonly { readonly instance: PluginInstance; readonly source: PluginSource | MissingPlugin }[];
  readonly added: readonly (PluginSource | MissingPlugin)[];
}

export function changesTo({ sources, disabled }: PluginPlan, instances: readonly PluginInstance[]): PlanChanges {
  const kept = new Set<PluginInstance>();
  const off: PluginInstance[] = [];
  const changed: { instance: PluginInstance; source: PluginSource | MissingPlugin }[] = [];
  const added: (PluginSource | MissingPlugin)[] = [];
  for (const source of sources) {
    // By key first: a plugin in a single file has no id before its import, and of two plugins with the same id only one has it.
    const instance =
      instances.find((one) => !kept.has(one) && keyOf(one.source) === keyOf(source)) ??
      instances.find((one) => !kept.has(one) && one.id === idOf(source));
    if (!instance) {
      added.push(source);
      continue;
    }
    kept.add(instance);
    const isOff = disabled.has(instance.id);
    if (isOff && instance.state !== "disabled") off.push(instance);
    const moved =
      keyOf(instance.source) !== keyOf(source) || refusalOf(instance.source, instance) !== refusalOf(source, instance);
    if (!isOff && (moved || instance.state === "disabled")) changed.push({ instance, source });
  }
  return { gone: instances.filter((one) => !kept.has(one)), disabled: off, changed, added };
}

function refusalOf(source: PluginSource | MissingPlugin, { id }: PluginInstance): string | undefined {
  return "load" in source ? source.refuse?.(id) : undefined;
}

function keyOf(source: PluginSource | MissingPlugin): string {
  return "load" in source ? source.key : `missing ${source.origin}: ${source.reason}`;
}
