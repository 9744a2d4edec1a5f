/** What a removed plugin leaves behind: what it kept for itself, and its configuration. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { claimProblem, isHostKey, sectionPath, valueAt } from "@svc/host/local";
import type { ConfigEdit } from "@svc/sdk/config";
import type { PlannedPlugins } from "@svc/sdk/plugins";

/** Where a plugin keeps what is its own; `undefined`: it kept nothing. */
export function keptDirectory(stateDir: string, id: string): string | undefined {
  const directory = join(stateDir, "plugins", id);
  return existsSync(directory) ? directory : undefined;
}

/**
 * Paths into the configuration that are only about this plugin, of those that are there.
 * @param owners of the sections, as long as anybody knew them; a section named like the plugin counts as its own
 */
export function keysOf(parsed: unknown, id: string, owners: PlannedPlugins["sections"]): (readonly string[])[] {
  const its = owners.filter(({ plugin }) => plugin === id).map(({ section }) => section);
  const isFree = claimProblem(id) === undefined && !owners.some(({ section }) => section === id);
  const sections = [...new Set([...its, ...(isFree ? [id] : [])])].map(sectionPath);
  return [...sections, ["plugins", "entries", id]].filter((path) => valueAt(parsed, path) !== undefined);
}

/** The same, taken out; with a key that plugins share, where nothing else is left below it. */
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
