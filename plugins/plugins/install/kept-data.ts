/** Data and configuration that remain after a plugin is removed. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { claimProblem, isHostKey, sectionPath, valueAt } from "@svc/host/local";
import type { ConfigEdit } from "@svc/sdk/config";
import type { PlannedPlugins } from "@svc/sdk/plugins";

/** Data directory of a plugin; `undefined`: none. */
export function keptDirectory(stateDir: string, id: string): string | undefined {
  const directory = join(stateDir, "plugins", id);
  return existsSync(directory) ? directory : undefined;
}

/**
 * Existing configuration paths that belong only to this plugin.
 * @param owners owners of the sections, as far as known; a section named like the plugin belongs to the plugin
 */
export function keysOf(parsed: unknown, id: string, owners: PlannedPlugins["sections"]): (readonly string[])[] {
  const its = owners.filter(({ plugin }) => plugin === id).map(({ section }) => section);
  const isFree = claimProblem(id) === undefined && !owners.some(({ section }) => section === id);
  const sections = [...new Set([...its, ...(isFree ? [id] : [])])].map(sectionPath);
  return [...sections, ["plugins", "entries", id]].filter((path) => valueAt(parsed, path) !== undefined);
}

/** Edits that remove these paths, and the parent key of several paths if it becomes empty. */
export function withoutKeys(parsed: unknown, paths: readonly (readonly string[])[]): ConfigEdit[] {
  return paths.map(([first = "", ...rest]) => {
    const shared = Object(valueAt(parsed, [first])) as object;
    const isLast = rest.length > 0 && !isHostKey(first) && Object.keys(shared).length === 1;
    return { path: isLast ? [first] : [first, ...rest] };
  });
}

export async function removeKept(stateDir: string, id: string): Promise<void> {
  await rm(join(stateDir, "plugins", id), { recursive: true, force: true });
}
