/** Owners of configuration sections and configuration warnings, from the plugins a start would load. Runs none of them. */
import type { ConfigWarning, Plugin } from "@svc/sdk";
import { messageOf } from "@svc/sdk/errors";
import { configIssues, effectiveConfig, isLoadable, knownContributions, type SectionOwner } from "@svc/host/local";
import type { ConfigFile, Issue, Paths } from "@svc/host/state";
import { plannedPlugins } from "../planned-plugins.ts";

export interface Owners {
  /** Sections of the plugins that would run, and of the disabled ones without their schema. */
  readonly owners: readonly SectionOwner[];
  /** The same sections, all with their schema. */
  readonly installed: readonly SectionOwner[];
  /** Plugins that are configured but not found. */
  readonly missing: readonly Issue[];
  /** Warnings of plugins in use about a file; empty if the file has an issue. */
  warnings(file: ConfigFile): readonly ConfigWarning[];
}

/** Imports the plugins that would be loaded; `svc plugins list` reports those that cannot be imported. */
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

/** A check that throws becomes a warning about the plugin, not about the configuration. */
function warningsOf(
  plugin: Plugin,
  view: Parameters<NonNullable<Plugin["configWarnings"]>>[0],
): readonly ConfigWarning[] {
  try {
    return plugin.configWarnings?.(view) ?? [];
  } catch (error) {
    const message = `the plugin could not check the configuration: ${messageOf(error)}; report this to the author of the plugin`;
    return [{ path: `plugins.entries.${plugin.id}`, message }];
  }
}

/** The plugin's own section and its additional ones. */
function sectionsOf({ id, section, config, sections }: Plugin): SectionOwner[] {
  const own = config ? [{ section: section ?? id, plugin: id, schema: config }] : [];
  return [...own, ...Object.entries(sections ?? {}).map(([key, schema]) => ({ section: key, plugin: id, schema }))];
}
