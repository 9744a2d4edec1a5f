/** The plugins a start would load, from a configuration that may be wrong in any way. Runs none of them. */
import type { ConfigFile } from "../config/file.ts";
import { sectionOf } from "../config/sections.ts";
import type { Paths } from "../config/paths.ts";
import { createPluginFinder, type MissingPlugin, type PluginSource } from "../kernel/load.ts";

export interface PlannedPlugins {
  readonly sources: readonly (PluginSource | MissingPlugin)[];
  /** Ids that `plugins.entries` switches off. */
  readonly disabled: ReadonlySet<string>;
}

/** A wrong shape counts as absent here; `svc config validate` says what is wrong with it. */
export function plannedPlugins({ resolved }: ConfigFile, { configDir, cacheDir, home }: Paths): PlannedPlugins {
  const { use, load, entries } = fields(sectionOf(resolved, "plugins"));
  const finder = createPluginFinder({ configDir, cacheDir, home });
  const named = Array.isArray(use) ? texts(use).map((spec) => finder.find(spec)) : finder.bundle();
  const added = texts(fields(load)["paths"]).map((spec) => finder.find(spec));
  const disabled = Object.entries(fields(entries)).flatMap(([id, entry]) =>
    fields(entry)["enabled"] === false ? [id] : [],
  );
  return { sources: [...named, ...added], disabled: new Set(disabled) };
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
