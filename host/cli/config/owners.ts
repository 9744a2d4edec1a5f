/** Who owns which section, and who has something to say of the whole, as the plugins say that a start would load. Runs none of them. */
import type { ConfigWarning, Plugin } from "@svc/sdk";
import { messageOf } from "@svc/sdk/errors";
import { configIssues, effectiveConfig, isLoadable, knownContributions, type SectionOwner } from "@svc/host/local";
import type { ConfigFile, Issue, Paths } from "@svc/host/state";
import { plannedPlugins } from "../planned-plugins.ts";

export interface Owners {
  /** Sections of the plugins that would run; of the disabled ones without their schema. */
  readonly owners: readonly SectionOwner[];
  /** The same with every schema there is. */
  readonly installed: readonly SectionOwner[];
  /** Plugins that are asked for and are not there. */
  readonly missing: readonly Issue[];
  /** What plugins in use find in a file; none in one with an issue. */
  warnings(file: ConfigFile): readonly ConfigWarning[];
}

/** Imports the plugins that would be loaded; one that cannot be imported is left to `svc plugins list`. */
export async function loadOwners(file: ConfigFile, paths: Paths): Promise<Owners> {
  const { sources, disabled } = plannedPlugins(file, paths);
  const loadable = sources.filter(isLoadable);
  const loaded = await Promise.all(
    loadable.map(async (source) =>
      source.load().then(
        (plugin) => [{ plugin, source }],
        () => [],
      ),
    ),
  );
  const all = loaded.flat();
  const installed = all.flatMap(({ plugin }) => sectionsOf(plugin));
  const owners = installed.map((owner) => (disabled.has(owner.plugin) ? { ...owner, schema: undefined } : owner));
  const inUse = all.filter(({ plugin }) => !disabled.has(plugin.id));
  const contributions = await knownContributions(inUse.map(({ source }) => source));
  return {
    installed,
    owners,
    missing: sources.flatMap((source) => ("load" in source ? [] : [{ path: "plugins", message: source.reason }])),
    warnings(checked) {
      if (configIssues(checked, owners).length > 0) return [];
      const view = { config: effectiveConfig(checked, owners), contributions };
      return inUse.flatMap(({ plugin }) => warningsOf(plugin, view));
    },
  };
}

/** A check that throws says nothing about the configuration, and is told as what it is. */
function warningsOf(
  plugin: Plugin,
  view: Parameters<NonNullable<Plugin["configWarnings"]>>[0],
): readonly ConfigWarning[] {
  try {
    return plugin.configWarnings?.(view) ?? [];
  } catch (error) {
    const message = `the plugin could not check the configuration: ${messageOf(error)}; tell whoever made the plugin`;
    return [{ path: `plugins.entries.${plugin.id}`, message }];
  }
}

/** The plugin's own section and its further ones. */
function sectionsOf({ id, section, config, sections }: Plugin): SectionOwner[] {
  const own = config ? [{ section: section ?? id, plugin: id, schema: config }] : [];
  return [...own, ...Object.entries(sections ?? {}).map(([key, schema]) => ({ section: key, plugin: id, schema }))];
}
