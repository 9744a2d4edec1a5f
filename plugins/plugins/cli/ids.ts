/** Ids of plugins. A single file is imported to learn its id, without running its setup. */
import type { MissingPlugin, PluginSource } from "@svc/host/local";

/** Plugins that cannot be imported are omitted. */
export async function idsOf(sources: readonly (PluginSource | MissingPlugin)[]): Promise<ReadonlySet<string>> {
  const ids = await Promise.all(
    sources.map(async (source) => {
      if (!("load" in source)) return [source.origin];
      if (source.manifest) return [source.manifest.id];
      const plugin = await source.load().catch(() => undefined); // the gateway reports the problem
      return plugin ? [plugin.id] : [];
    }),
  );
  return new Set(ids.flat());
}
