/** Turns a source into a plugin instance: runs the checks that need no code, then resolves the code. */
import { messageOf } from "@svc/sdk/errors";
import type { Clock, Logger } from "@svc/sdk";
import { within } from "../clock.ts";
import { PluginInstance } from "./instance.ts";
import type { Carried, KernelHooks, PluginFacts } from "./kind.ts";
import type { PluginState } from "./state.ts";
import type { MissingPlugin, PluginSource } from "./load.ts";
import { apiMismatch, type Manifest, PLUGIN_ID } from "./manifest.ts";

export interface DescribeOptions {
  readonly disabled: ReadonlySet<string>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Resolves a source to its code. */
  readonly resolve: KernelHooks["resolve"];
  /** Milliseconds an import may take. */
  readonly deadlineMs: number;
}

/** Never rejects: a problem becomes the state and the reason of the instance. */
export async function resolvePlugin(
  source: PluginSource | MissingPlugin,
  options: DescribeOptions,
): Promise<PluginInstance> {
  if (!("load" in source))
    return settled(new PluginInstance(source.origin, source, undefined), "blocked", source.reason);
  const { manifest } = source;
  if (manifest && options.disabled.has(manifest.id)) {
    return settled(new PluginInstance(manifest.id, source, manifest), "disabled", disabledBy(manifest.id));
  }
  const mismatch = manifest && apiMismatch(manifest.api);
  if (mismatch) return settled(new PluginInstance(manifest.id, source, manifest), "blocked", mismatch);
  return imported(source, options);
}

async function imported(
  source: PluginSource,
  { disabled, clock, log, resolve, deadlineMs }: DescribeOptions,
): Promise<PluginInstance> {
  const { manifest, origin } = source;
  const begun = clock.elapsed();
  let code: Carried;
  try {
    code = await within(deadlineMs, clock, resolve.promise(source));
  } catch (error) {
    const id = manifest?.id ?? origin;
    log.error({ plugin: id, err: error }, `plugin ${id} cannot be imported`);
    const text = messageOf(error);
    return settled(new PluginInstance(id, source, manifest), "failed", `import: ${text}`);
  }
  const { plugin } = code;
  const instance = new PluginInstance(plugin.id, source, manifest);
  instance.code = code;
  instance.timings.importMs = Math.round(clock.elapsed() - begun);
  if (disabled.has(plugin.id)) return settled(instance, "disabled", disabledBy(plugin.id));
  const wrong = source.refuse?.(plugin.id) ?? checkCode(plugin, manifest);
  return settled(instance, wrong ? "blocked" : "described", wrong);
}

/** Instance for a second plugin with an id already in use: listed with its origin, never run. */
export function duplicateOf(twin: PluginInstance): PluginInstance {
  const { origin } = twin.source;
  const reason = `its id "${twin.id}" is already used by a plugin that was named earlier; remove one of them`;
  return settled(new PluginInstance(`${twin.id} (${origin})`, twin.source, undefined), "blocked", reason);
}

/** Why this code cannot run here, or `undefined`. */
export function checkCode(
  plugin: Pick<PluginFacts, "id" | "api">,
  manifest: Pick<Manifest, "id"> | undefined,
): string | undefined {
  if (!PLUGIN_ID.test(plugin.id)) return `its id "${plugin.id}" does not match ${PLUGIN_ID.source}`;
  if (manifest && manifest.id !== plugin.id) {
    return `its code has the id "${plugin.id}", its package.json the id "${manifest.id}"`;
  }
  return apiMismatch(plugin.api);
}

/** Reason for a plugin that an operator disabled. */
export function disabledBy(id: string): string {
  return `disabled by plugins.entries.${id}.enabled`;
}

function settled(instance: PluginInstance, state: PluginState, reason: string | undefined): PluginInstance {
  instance.state = state;
  instance.reason = reason;
  return instance;
}
