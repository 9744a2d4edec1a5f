/** Contributions of plugins to extension points, read from their manifests and written declarations. Runs none of them. */
import type { ConfigView } from "@svc/sdk";
import { isObject, own } from "./config/plain-data.ts";
import type { PluginSource } from "./kernel/load.ts";
import { readWritten, writtenFile } from "./carriers/written.ts";

/** @param sources plugins in use */
export function knownContributions(sources: readonly PluginSource[]): ConfigView["contributions"] {
  const manifests = sources.map(({ manifest }) => manifest);
  return ({ id: point }) => {
    if (manifests.includes(undefined)) return undefined;
    return manifests.flatMap((manifest) => {
      const ids = own(manifest?.contributes, point) as readonly string[] | undefined; // guaranteed by the schema of the manifest
      if (!manifest || !ids) return [];
      const written = readWritten(writtenFile(manifest.directory, manifest.entry))?.entries?.["contributions"] ?? [];
      return ids.map((id) => {
        const value = written.map(({ entry }) => entry).find((entry) => isOf(entry, point, id));
        return value === undefined ? { id } : { id, value: own(value, "value") };
      });
    });
  };
}

function isOf(entry: unknown, point: string, id: string): boolean {
  return isObject(entry) && entry["id"] === id && own(entry["point"], "id") === point;
}
