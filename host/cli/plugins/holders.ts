/** Which ids are taken by the bundle or the configuration of this machine. */
import { readConfigFile } from "../../config/file.ts";
import type { Paths } from "../../config/paths.ts";
import { holderOf } from "../../install/holder.ts";
import { createPluginFinder } from "../../kernel/load.ts";
import { plannedPlugins } from "../planned-plugins.ts";

/** @returns in words what has an id, or `undefined` */
export async function holders(paths: Paths): Promise<(id: string) => string | undefined> {
  const finder = createPluginFinder(paths);
  const plan = plannedPlugins(await readConfigFile(paths.configPath, process.env), paths);
  return (id) => holderOf(id, plan, finder);
}
