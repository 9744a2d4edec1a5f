/** The plugins a start would load, and what the code of each says of itself. Runs none of them. */
import { join } from "node:path";
import { codeFacts } from "./code-facts.ts";
import { isLoadable, type PluginSource } from "@svc/host/local";
import { pluginsHere } from "../planned-plugins.ts";

/** A plugin that a start would load. Services by id. */
export interface PlannedCode {
  readonly id: string;
  /** As `plugins.use` takes it. */
  readonly spec: string;
  readonly provides: readonly string[];
  readonly requires: readonly string[];
  /** Why it cannot be imported. */
  readonly problem?: string;
}

export interface PlannedStart {
  /** The configuration, all placeholders filled in. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Without the disabled ones. */
  readonly plugins: readonly PlannedCode[];
}

/** What a start would load now. The code is imported in a process that is thrown away. */
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

/** Of a plugin without a package the file itself. */
function entryOf({ manifest, key }: PluginSource): string {
  return manifest ? join(manifest.directory, manifest.entry) : key;
}
