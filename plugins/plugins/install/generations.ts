/** The directories of installed versions (`gen-<n>`): used directories, leftovers, and the next number. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { generationName, type Installed, type InstalledPlugin } from "@svc/host/local";
import type { InstallFiles } from "./effects.ts";

/** Name prefix of a directory in preparation. */
export const STAGING = ".staging-";

/** Leftovers of interrupted installs, as paths relative to the extensions directory. */
export function leftovers(extensions: string, installed: Installed): string[] {
  const used = new Set([...installed].flatMap(([id, plugin]) => usedBy(id, plugin)));
  return namesIn(extensions).flatMap((name) => {
    if (name.startsWith(STAGING) || name.endsWith(".tmp")) return [name];
    if (name.startsWith(".") || !isDirectory(join(extensions, name))) return [];
    const inside = namesIn(join(extensions, name)).map((child) => `${name}/${child}`);
    const orphans = inside.filter((path) => /\/gen-\d+(?:\.seal)?$|\.tmp$/.test(path) && !used.has(path));
    return inside.length === orphans.length && !installed.has(name) ? [name] : orphans;
  });
}

function usedBy(id: string, { generation, source, previous }: InstalledPlugin): string[] {
  const own = source === "link" ? [] : [generationName(id, generation)];
  const before = previous && previous.source !== "link" ? [generationName(id, previous.generation)] : [];
  return [...own, ...before].flatMap((path) => [path, `${path}.seal`]);
}

/** A number that neither a directory nor the record uses. */
export function nextGeneration(extensions: string, id: string, current: InstalledPlugin | undefined): number {
  const numbers = namesIn(join(extensions, id)).map((name) => Number(/^gen-(\d+)/.exec(name)?.[1] ?? 0));
  return Math.max(0, ...numbers, current?.generation ?? 0, current?.previous?.generation ?? 0) + 1;
}

/**
 * Removes unused files. Only call this function while holding the lock: files of a concurrent install look like
 * leftovers.
 */
export async function removeLeftovers(extensions: string, installed: Installed, { rm }: InstallFiles): Promise<void> {
  for (const path of leftovers(extensions, installed))
    await rm(join(extensions, path), { recursive: true, force: true, maxRetries: 3 });
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // does not exist
  }
}

function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
