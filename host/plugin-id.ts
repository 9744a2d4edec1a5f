/** Checks ids of new plugins. */
import { FREE_KEYS, HOST_SECTIONS } from "./config/host-schema.ts";
import { resolvePaths } from "./config/paths.ts";
import { createPluginFinder, idOf } from "./kernel/load.ts";
import { PLUGIN_ID } from "./kernel/manifest.ts";

/** Why no new plugin can have this id, or `undefined` when it is free. */
export function idProblem(id: string): string | undefined {
  if (!PLUGIN_ID.test(id))
    return `"${id}" is not a valid name: use 2 to 64 lower-case letters, digits and -, beginning with a letter`;
  if (id in HOST_SECTIONS || FREE_KEYS.includes(id)) return `"${id}" is a section of the gateway's own configuration`;
  const isTaken = createPluginFinder(resolvePaths())
    .bundle()
    .some((source) => idOf(source) === id);
  return isTaken ? `"${id}" is a plugin that comes with the gateway` : undefined;
}
