/** Who owns which section, as the plugins say that a start would load. Runs none of them. */
import type { Plugin } from "@svc/sdk";
import type { SectionOwner } from "@svc/host/local";
import type { ConfigFile, Issue, Paths } from "@svc/host/state";
import { plannedPlugins } from "../planned-plugins.ts";

export interface Owners {
  /** Sections of the plugins that would run; of the disabled ones without their schema. */
  readonly owners: readonly SectionOwner[];
  /** The same with every schema there is. */
  readonly installed: readonly SectionOwner[];
  /** Plugins that are asked for and are not there. */
  readonly missing: readonly Issue[];
}

/** Imports the plugins that would be loaded; one that cannot be imported is left to `svc plugins list`. */
export async function loadOwners(file: ConfigFile, paths: Paths): Promise<Owners> {
  const { sources, disabled } = plannedPlugins(file, paths);
  const plugins = await Promise.all(
    sources.map(async (source): Promise<Plugin[]> => {
      if (!("load" in source)) return [];
      return source.load().then(
        (plugin) => [plugin],
        () => [],
      );
    }),
  );
  const installed = plugins.flat().flatMap(sectionsOf);
  return {
    installed,
    owners: installed.map((owner) => (disabled.has(owner.plugin) ? { ...owner, schema: undefined } : owner)),
    missing: sources.flatMap((source) => ("load" in source ? [] : [{ path: "plugins", message: source.reason }])),
  };
}

/** The plugin's own section and its further ones. */
function sectionsOf({ id, section, config, sections }: Plugin): SectionOwner[] {
  const own = config ? [{ section: section ?? id, plugin: id, schema: config }] : [];
  return [...own, ...Object.entries(sections ?? {}).map(([key, schema]) => ({ section: key, plugin: id, schema }))];
}
