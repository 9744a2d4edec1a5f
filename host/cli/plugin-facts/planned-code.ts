/** The plugins a start would load, and what the code of each declares. Runs none of them. */
import { join } from "node:path";
import { codeFacts } from "./code-facts.ts";
import { isLoadable, type PluginSource } from "@svc/host/local";
import { pluginsHere } from "../planned-plugins.ts";

/** A plugin that a start would load. Services are listed by id. */
export interface PlannedCode {
  readonly id: string;
  /** Value for `plugins.use`. */
  readonly spec: string;
  readonly provides: readonly string[];
  readonly requires: readonly string[];
  /** Why it cannot be imported. */
  readonly problem?: string;
}

export interface PlannedStart {
  /** The configuration with all placeholders replaced. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Without disabled plugins. */
  readonly plugins: readonly PlannedCode[];
}

/** Reads what a start would load now. Imports the code in a disposable process. */
export async function plannedStart(): Promise<PlannedStart> {
  const { file, sources, disabled } = await pluginsHere();
  const usable = sources.filter(isLoadable);
  const facts = await codeFacts(usable.map(entryOf));
  const plugins = usable.map(({ manifest, origin, key }, index): PlannedCode => {
    const { id = manifest?.id ?? origin, provides = [], requires = [], problem } = facts[index] ?? {};
    return { id, spec: manifest?.directory ?? key, provides, requires, ...(problem === undefined ? {} : { problem }) };
  });
  return { config: file.resolved, plugins: plugins.filter(({ id }) => !disabled.has(id)) };
}

/** Path of the plugin's entry file; for a plugin without a package, the file itself. */
function entryOf({ manifest, key }: PluginSource): string {
  return manifest ? join(manifest.directory, manifest.entry) : key;
}
