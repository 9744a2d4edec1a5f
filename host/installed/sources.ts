/** Installed plugins as sources a gateway can load. Cheap: reads the record and one package.json per plugin. */
import { join } from "node:path";
import type { Paths } from "../config/paths.ts";
import { importPlugin, type MissingPlugin, type PluginSource } from "../kernel/load.ts";
import { ManifestError, readManifest } from "../kernel/manifest.ts";
import { extensionsOf, type InstalledPlugin, packageDirectory, readRecord, recordPath } from "./record.ts";
import { lazy } from "@svc/sdk";

const verifier = lazy(() => import("./verify.ts"));

export type InstallPaths = Pick<Paths, "stateDir" | "cacheDir">;

/** @returns one source per installed plugin; for an unusable record, a single missing plugin with the problem */
export function installedSources(paths: InstallPaths): readonly (PluginSource | MissingPlugin)[] {
  const extensions = extensionsOf(paths.stateDir);
  const installed = readRecord(extensions);
  if ("problem" in installed) {
    const reason = `no installed plugin is loaded: ${installed.problem}; see: svc plugins doctor`;
    return [{ origin: recordPath(extensions), reason }];
  }
  return [...installed].map(([id, plugin]) => sourceOf(id, plugin, paths));
}

/** Prefix of the keys of installed sources. No other source has it: other keys begin with a path. */
const KEY = "installed ";

export function isInstalledSource({ key }: Pick<PluginSource, "key">): boolean {
  return key.startsWith(KEY);
}

function sourceOf(id: string, plugin: InstalledPlugin, paths: InstallPaths): PluginSource | MissingPlugin {
  const extensions = extensionsOf(paths.stateDir);
  const directory = packageDirectory(extensions, plugin);
  try {
    const manifest = readManifest(directory);
    if (!manifest) throw new ManifestError('its package.json no longer has "svc.entry"');
    if (manifest.id !== id) throw new ManifestError(`its package now has the id "${manifest.id}"`);
    const check = async () => void (await (await verifier()).verifyInstalled(id, plugin, extensions));
    return {
      origin: originOf(plugin),
      // Includes values of the record: the directory may contain another package now, or have been agreed to again.
      key: `${KEY}${directory} ${plugin.tree} ${plugin.installedAt}`,
      manifest,
      async load() {
        await check();
        return importPlugin(join(directory, manifest.entry), paths.cacheDir);
      },
      check,
      again: () => again(id, paths),
    };
  } catch (error) {
    const why = error instanceof ManifestError ? error.message : `its package cannot be read at ${directory}`;
    return { origin: id, reason: `${why}; next: svc plugins update ${id}, or svc plugins remove ${id}` };
  }
}

function again(id: string, paths: InstallPaths): PluginSource | MissingPlugin {
  const installed = readRecord(extensionsOf(paths.stateDir));
  if ("problem" in installed) return { origin: id, reason: installed.problem };
  const plugin = installed.get(id);
  return plugin ? sourceOf(id, plugin, paths) : { origin: id, reason: "it was removed" };
}

/** Origin of an installed plugin, for lists. */
export function originOf({ source, name, version, directory }: InstalledPlugin): string {
  return source === "link" ? `linked: ${directory}` : `installed: ${name}@${version}`;
}
