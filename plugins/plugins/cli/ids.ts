/** Ids of plugins. One that is a mere file is imported for it, which runs nothing of it. */
import type { MissingPlugin, PluginSource } from "@svc/host/local";

/** Those that cannot be imported have none. */
export async function idsOf(sources: readonly (PluginSource | MissingPlugin)[]): Promise<ReadonlySet<string>> {
  const ids = await Promise.all(
    sources.map(async (source) => {
      if (!("load" in source)) return [source.origin];
      if (source.manifest) return [source.manifest.id];
      const plugin = await source.load().catch(() => undefined); // the gateway says what is wrong with it
      return plugin ? [plugin.id] : [];
    }),
  );
  return new Set(ids.flat());
}
