/**
 * Puts a new generation of a plugin in the place of the running one, without a restart.
 *
 * Everything that can fail without harm comes first, while the old one serves: its code, its configuration, its setup.
 * Then what is new is held, what is under way ends, plugins that use its services stop, it stops, the new declarations
 * take the place of the old ones in one step, and it starts. Should the start fail, the old one comes back.
 */
import type { Logger } from "@svc/sdk";
import type { ReloadReport } from "@svc/sdk/plugins";
import { settled } from "../clock.ts";
import type { Owner } from "../hooks/owner.ts";
import type { Activation } from "./activation.ts";
import type { Generation } from "./generation.ts";
import { holdsService } from "./graph.ts";
import { ReplacementHold } from "./hold.ts";
import type { PluginInstance } from "./instance.ts";
import type { Carried, PluginConfig, PluginFacts } from "./kind.ts";
import type { Lifecycle, StagedGeneration } from "./lifecycle.ts";
import type { PluginSet } from "./plugin-set.ts";

/** Milliseconds what is under way may take to end; then it is cut off. Choice: shorter than callers are held. */
const DRAIN_MS = 3_000;

export interface ReplacementOptions {
  readonly log: Logger;
  readonly set: PluginSet;
  readonly lifecycle: Lifecycle;
  readonly activation: Activation;
  /** Whose call asked for the replacement: that one is not waited for. */
  readonly asker: Owner | undefined;
}

/** Code of a plugin, and the package it came from. */
export interface Version extends Pick<PluginInstance, "source" | "manifest"> {
  readonly code: Carried;
}

/**
 * @param version the new one; the same for a mere change of configuration
 * @returns never rejects because of the plugin: the report says what became of it
 */
export async function replace(
  instance: PluginInstance,
  version: Version,
  options: ReplacementOptions,
): Promise<ReloadReport> {
  const { lifecycle } = options;
  const { code } = version;
  const { current: old, source, manifest } = instance;
  if (!old) throw new Error(`plugin ${instance.id} has no generation to replace`);
  instance.takePackage(version);
  const staged = await lifecycle.stage(instance, code, new Map());
  if (!("generation" in staged)) {
    instance.takePackage({ source, manifest });
    return instance.outcome({ reason: staged.reason });
  }

  const dependents = dependentsOf(instance, [old.code.plugin, code.plugin], options.set.inOrder());
  const hold = new ReplacementHold(lifecycle.clock);
  const all = [instance, ...dependents];
  for (const held of all) held.hold = hold;
  try {
    await drained(all, options);
    for (const dependent of [...dependents].reverse()) await standDown(dependent, lifecycle);
    await standDown(instance, lifecycle);
    const failure = await takeOver(instance, staged, lifecycle);
    if (failure !== undefined) instance.takePackage({ source, manifest });
    const rolledBack = failure !== undefined && (await comeBack(instance, old, failure, options));
    for (const dependent of dependents) lifecycle.move(dependent, "described");
    await options.activation.run();
    return instance.outcome({
      ...(failure === undefined ? {} : { reason: failure }),
      rolledBack,
      restarted: dependents.map(({ id }) => id),
      heldMs: Math.round(lifecycle.clock.elapsed() - hold.begunAt),
    });
  } finally {
    for (const held of all) held.hold = undefined;
    hold.release();
  }
}

/** Plugins that have a service of it in their hands, and those that have one of theirs; in order. */
function dependentsOf(
  changed: PluginInstance,
  versions: readonly PluginFacts[],
  instances: readonly PluginInstance[],
): PluginInstance[] {
  const services = new Set(versions.flatMap(({ provides = [] }) => provides.map(({ id }) => id)));
  const found = new Set<PluginInstance>();
  for (let grew = true; grew;) {
    grew = false;
    for (const instance of instances) {
      const { current } = instance;
      if (
        instance === changed ||
        found.has(instance) ||
        !current ||
        current.isAsleep ||
        !holdsService(current.code.plugin, services)
      )
        continue;
      found.add(instance);
      for (const { id } of current.code.plugin.provides ?? []) services.add(id);
      grew = true;
    }
  }
  return instances.filter((instance) => found.has(instance));
}

/** Waits until nothing of these plugins is under way, or the time is up. */
async function drained(
  instances: readonly PluginInstance[],
  { lifecycle: { clock }, asker }: ReplacementOptions,
): Promise<void> {
  // One call is left to the plugin that asked for this: the call that asked.
  const idle = instances.map(({ current }) => current?.idle(current.owner === asker ? 1 : 0) ?? Promise.resolve());
  await settled(DRAIN_MS, clock, Promise.all(idle));
}

/** Stops the running generation; its declarations stay until others take their place, so that nothing seems unknown meanwhile. */
async function standDown(instance: PluginInstance, lifecycle: Lifecycle): Promise<void> {
  lifecycle.seal(instance);
  await instance.current?.stop(lifecycle.clock);
  lifecycle.move(instance, "reloading");
}

/** @returns why the new generation does not run, or `undefined` */
async function takeOver(
  instance: PluginInstance,
  staged: StagedGeneration,
  lifecycle: Lifecycle,
): Promise<string | undefined> {
  const conflict = lifecycle.commit(instance, staged);
  if (conflict !== undefined) return conflict;
  return (await lifecycle.start(instance))?.reason;
}

/** The old code with its old configuration, set up again. @returns whether it runs */
async function comeBack(
  instance: PluginInstance,
  { code, config }: Generation,
  reason: string,
  { lifecycle, log }: ReplacementOptions,
): Promise<boolean> {
  log.warn(
    { plugin: instance.id, reason },
    `the new version of plugin ${instance.id} does not run; rolling back to the old version`,
  );
  const failure = await runAgain(instance, code, config, lifecycle);
  if (failure === undefined) {
    lifecycle.move(instance, "active", `rolled back: the new version did not start: ${reason}`);
    return true;
  }
  const why = `${reason}; the rollback to the old version failed, too: ${failure}`;
  lifecycle.settle(instance, { state: "failed", reason: why });
  return false;
}

async function runAgain(
  instance: PluginInstance,
  code: Carried,
  config: PluginConfig,
  lifecycle: Lifecycle,
): Promise<string | undefined> {
  const staged = await lifecycle.stage(instance, code, new Map(), config);
  return "generation" in staged ? takeOver(instance, staged, lifecycle) : staged.reason;
}
