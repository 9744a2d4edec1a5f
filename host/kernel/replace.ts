/**
 * Replaces the running generation of a plugin by a new one, without a gateway restart.
 *
 * Steps that can fail without harm come first, while the old generation serves: import, configuration, setup. Then new calls are held, calls
 * in flight get time to finish, dependent plugins stop, the old generation stops, and the new declarations replace the old ones in one
 * synchronous step. Then the new generation starts. If the commit or the start fails, the old version is set up and started again.
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

/** Time calls in flight get to finish before they are interrupted. ms. Choice: shorter than the time a call is held. */
const DRAIN_MS = 3_000;

export interface ReplacementOptions {
  readonly log: Logger;
  readonly set: PluginSet;
  readonly lifecycle: Lifecycle;
  readonly activation: Activation;
  /** Owner whose call requested the replacement; the drain does not wait for that call. */
  readonly asker: Owner | undefined;
}

/** Code of a plugin, with its source and manifest. */
export interface Version extends Pick<PluginInstance, "source" | "manifest"> {
  readonly code: Carried;
}

/**
 * @param version the new version; the current one if only the configuration changed
 * @returns the outcome; a failing plugin never makes it reject
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

/** Plugins set up with a service of `changed`, or of another dependent, in plugin order; sleeping plugins are excluded. */
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

/** Waits until these plugins have no calls in flight, at most `DRAIN_MS`. */
async function drained(
  instances: readonly PluginInstance[],
  { lifecycle: { clock }, asker }: ReplacementOptions,
): Promise<void> {
  // The requesting plugin keeps one call in flight: the call that requested the replacement.
  const idle = instances.map(({ current }) => current?.idle(current.owner === asker ? 1 : 0) ?? Promise.resolve());
  await settled(DRAIN_MS, clock, Promise.all(idle));
}

/** Stops the running generation. Its declarations stay until the new ones replace them, so that no name becomes unknown meanwhile. */
async function standDown(instance: PluginInstance, lifecycle: Lifecycle): Promise<void> {
  lifecycle.seal(instance);
  await instance.current?.stop(lifecycle.clock);
  lifecycle.move(instance, "reloading");
}

/** Commits and starts a staged generation. @returns why it does not run, or `undefined` */
async function takeOver(
  instance: PluginInstance,
  staged: StagedGeneration,
  lifecycle: Lifecycle,
): Promise<string | undefined> {
  const conflict = lifecycle.commit(instance, staged);
  if (conflict !== undefined) return conflict;
  return (await lifecycle.start(instance))?.reason;
}

/** Rolls back: sets up and starts the old code with its old configuration. @returns whether it runs */
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
