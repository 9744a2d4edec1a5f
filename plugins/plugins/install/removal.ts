/** Removes an installed plugin; with `purge`, also its data and configuration. */
import type { ConfigEdit } from "@svc/sdk/config";
import type { PlannedPlugins, PluginRemoval } from "@svc/sdk/plugins";
import { InstallFailure } from "./failure.ts";
import type { Installer } from "./installer.ts";
import { keptDirectory, keysOf, removeKept, withoutKeys } from "./kept-data.ts";

/** Environment of a removal. */
export interface RemovalPlace {
  readonly installer: Pick<Installer, "remove">;
  readonly stateDir: string;
  /** The parsed configuration file. */
  readonly parsed: unknown;
  /** State before the removal; afterwards the plugin's sections are unknown. */
  readonly planned: Pick<PlannedPlugins, "sections" | "holderOf">;
  edit(decide: (parsed: unknown) => readonly ConfigEdit[]): Promise<unknown>;
}

/** @throws InstallFailure */
export async function removeInstalled(id: string, purge: boolean, place: RemovalPlace): Promise<PluginRemoval> {
  const { stateDir, parsed, edit } = place;
  const owners = place.planned.sections;
  const keys = keysOf(parsed, id, owners);
  const hasLeft = keptDirectory(stateDir, id) !== undefined || keys.length > 0;
  const version = await removeOrFind(id, purge && hasLeft, place);
  const directory = keptDirectory(stateDir, id);
  if (!purge) {
    const kept = { ...(directory === undefined ? {} : { directory }), keys: keys.map((path) => path.join(".")) };
    return { id, version, kept };
  }
  if (keys.length > 0) await edit((now) => withoutKeys(now, keysOf(now, id, owners)));
  await removeKept(stateDir, id);
  return { id, version, kept: { keys: [] } };
}

/**
 * @param mayBeGone accept that the plugin is already removed and only its leftovers remain
 * @returns the version of the plugin, or an empty string
 */
async function removeOrFind(id: string, mayBeGone: boolean, { installer, planned }: RemovalPlace): Promise<string> {
  try {
    return (await installer.remove(id)).record.version;
  } catch (error) {
    const isGone = error instanceof InstallFailure && error.details.code === "NOT_INSTALLED";
    if (!isGone || !mayBeGone || planned.holderOf(id) !== undefined) throw error;
    return "";
  }
}
