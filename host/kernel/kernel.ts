/**
 * Brings plugins up, replaces them and takes them down.
 *
 * described -> (disabled) | blocked | pending -> staged -> starting -> active -> draining -> stopped, or failed.
 * All `setup`s run level by level without anybody seeing a thing, then everything is committed in one
 * synchronous step, then resources are acquired in the same order. One plugin's failure costs it and what needs it.
 */
import { setImmediate as breathe } from "node:timers/promises";
import { GatewayError, type TSchema } from "@svc/sdk";
import type { EventLoopBlock } from "@svc/sdk/gateway";
import type { PluginInspection, PluginMeasures, PluginReport, ReloadReport } from "@svc/sdk/plugins";
import { within } from "../clock.ts";
import type { Hold, Owner } from "../hooks/owner.ts";
import { currentOwner } from "./blame.ts";
import { Activation } from "./activation.ts";
import { alignmentOf } from "./alignment.ts";
import { blockError } from "./failure.ts";
import { describePlugin, disabledBy, duplicateOf } from "./describe.ts";
import type { PluginInstance } from "./instance.ts";
import type { AnyKind } from "./kind.ts";
import { busy } from "./kinds/busy.ts";
import { configHandlers } from "./kinds/config-handlers.ts";
import { methods } from "./kinds/methods.ts";
import { sectionsOf } from "./kinds/sections.ts";
import { Lifecycle, type LifecycleOptions } from "./lifecycle.ts";
import type { MissingPlugin, PluginSource } from "./load.ts";
import { Recovery } from "./recovery.ts";
import { replace, type Version } from "./replacement.ts";

/** Other taps on `resolve` go before the one that imports. */
const LAST = 1_000;

export interface KernelOptions extends LifecycleOptions {
  /** Report of an installed plugin outside the plan that would serve this method. */
  unloaded(method: string): PluginReport | undefined;
}

/** What to load. */
export interface PluginPlan {
  readonly sources: readonly (PluginSource | MissingPlugin)[];
  readonly disabled: ReadonlySet<string>;
}

/** A section of the configuration and its owner; without a schema while the plugin is not loaded. */
export interface OwnedSection {
  readonly section: string;
  readonly plugin: string;
  readonly schema: TSchema | undefined;
}

/** A plugin that would serve a method. */
export interface AbsentPlugin extends PluginReport {
  /** Until the gateway's own next attempt. */
  readonly retryAfterMs?: number;
}

export class Kernel {
  readonly #options: KernelOptions;
  readonly #lifecycle: Lifecycle;
  readonly #instances = new Map<string, PluginInstance>();
  readonly #activation: Activation;
  readonly #recovery: Recovery;
  /** One change at a time: two would set the same waiting plugin up twice. */
  #changes: Promise<unknown> = Promise.resolve();
  #stopping = false;

  constructor(options: KernelOptions) {
    this.#options = options;
    const { resolve } = options.kinds.hooks;
    resolve.tapPromise({ name: "here", stage: LAST }, async (source) => {
      const plugin = await source.load();
      return { plugin, setup: ({ gateway }) => plugin.setup(gateway as never) }; // typed by definePlugin
    });
    this.#lifecycle = new Lifecycle(options, {
      failed: (instance) => this.#recovery.failed(instance),
      died: (instance, generation, error) => this.#recovery.died(instance, generation, error),
    });
    this.#recovery = new Recovery({
      ...options,
      lifecycle: this.#lifecycle,
      inOrder: () => this.#inOrder(),
      activate: () => this.#activation.run(),
      later: (change) => {
        this.#serially(change).catch((error: unknown) => {
          if (!this.#stopping) options.log.error({ err: error }, "a plugin could not be taken down or brought back");
        });
      },
    });
    this.#activation = new Activation({
      lifecycle: this.#lifecycle,
      instances: this.#instances,
      settle: (instance, failure) => this.#recovery.settle(instance, failure),
    });
  }

  reports(): PluginReport[] {
    return this.#byId().map((instance) => this.#reportOf(instance));
  }

  #byId(): PluginInstance[] {
    return [...this.#instances.values()].sort((left, right) => (left.id < right.id ? -1 : 1));
  }

  #reportOf(instance: PluginInstance): PluginReport {
    const staged = instance.state === "active" ? instance.current?.staged : undefined;
    return instance.report(staged ? this.#options.kinds.inert(staged) : []);
  }

  /** Everything known of one plugin. @throws GatewayError `NOT_FOUND` */
  inspect(id: string): PluginInspection {
    const instance = this.#known(id);
    const { manifest, source, placement } = instance;
    const { description, directory, permissions, isolation } = manifest ?? {};
    return {
      plugin: this.#reportOf(instance),
      stats: instance.stats(),
      package: {
        origin: source.origin,
        ...(directory ? { directory } : {}),
        ...(description === undefined ? {} : { description }),
      },
      ...(permissions ? { permissions } : {}),
      placements: { now: placement, supports: isolation?.supports ?? ["host"] },
      declares: this.#declares(instance),
    };
  }

  /** What a plugin declares, by kind; of one that does not run, what is known without it. */
  #declares({ plugin, manifest, current }: PluginInstance): PluginInspection["declares"] {
    return this.#options.kinds.describe({ plugin, manifest, declared: current?.staged?.declared });
  }

  /** The report of each plugin, and what it declares. */
  inventory(): (PluginReport & Pick<PluginInspection, "declares">)[] {
    return this.#byId().map((instance) => ({ ...this.#reportOf(instance), declares: this.#declares(instance) }));
  }

  /** What each plugin costs. */
  measures(): PluginMeasures[] {
    return this.#byId().map((instance) => {
      const { id, version, state } = instance.report([]);
      return { id, version, state, ...instance.stats(), ...instance.tally.details() };
    });
  }

  /** An owner's code kept everything else waiting. @returns whether it is a plugin of this gateway's, and was charged */
  blocked(owner: Owner, block: EventLoopBlock): boolean {
    const instance = this.#instances.get(owner.id);
    if (instance?.current?.owner !== owner) return false;
    instance.tally.blocked(block.ms);
    owner.charge(blockError(block), "event loop");
    return true;
  }

  /** Who owns which configuration section. */
  sections(): OwnedSection[] {
    return [...this.#instances.values()].flatMap(({ id, plugin, manifest, state }) => {
      const schemas = { ...sectionsOf(plugin), ...(plugin ? {} : unknownSections(manifest?.section ?? manifest?.id)) };
      return Object.entries(schemas).map(([section, schema]) => ({
        section,
        plugin: id,
        schema: state === "disabled" ? undefined : schema,
      }));
    });
  }

  /** Plugin that would serve this method, were it running, why it is not, and when the gateway tries again. */
  absentProvider(method: string): AbsentPlugin | undefined {
    for (const instance of this.#instances.values()) {
      if (!instance.declares(methods, method) || instance.state === "active") continue;
      const { retryAt } = instance;
      const retryAfterMs = retryAt === undefined ? undefined : Math.max(500, retryAt - this.#options.clock.now());
      return { ...instance.report([]), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    }
    return this.#options.unloaded(method);
  }

  /** What a use of an unknown name waits for: its plugin is being replaced by a version that may declare it. */
  holdFor(kind: AnyKind, name: string): Hold | undefined {
    for (const instance of this.#instances.values())
      if (instance.hold && instance.declares(kind, name)) return instance.hold;
    return undefined;
  }

  /** Plugin of this gateway that declares this when it runs, and does not run. */
  absent(kind: AnyKind, name: string): PluginReport | undefined {
    const instances = [...this.#instances.values()];
    return instances.find((one) => one.state !== "active" && one.declares(kind, name))?.report([]);
  }

  /** Whether some plugin has work under way that a planned restart should wait for. */
  isBusy(): boolean {
    return this.#inOrder().some(({ current }) =>
      current?.staged?.declared.of(busy).some(({ check }) => current.ready && isBusy(current.owner, check)),
    );
  }

  /** Loads and starts everything of the plan. Never throws because of a plugin. */
  async boot(plan: PluginPlan): Promise<void> {
    await this.#serially(async () => {
      await this.#admit(plan.sources, plan.disabled);
      await this.#activation.run();
    });
    this.#lifecycle.announces = true;
  }

  /** Knows these plugins from now on; those that can run are set up by the next activation. */
  async #admit(sources: PluginPlan["sources"], disabled: PluginPlan["disabled"]): Promise<PluginInstance[]> {
    const described = await Promise.all(sources.map((source) => this.#describe(source, disabled)));
    return described.map((found) => {
      const instance = this.#instances.has(found.id) ? duplicateOf(found) : found;
      this.#instances.set(instance.id, instance);
      if (instance.state !== "disabled") this.#lifecycle.seal(instance);
      return instance;
    });
  }

  #describe(source: PluginSource | MissingPlugin, disabled: ReadonlySet<string> = new Set()): Promise<PluginInstance> {
    const { clock, log, kinds } = this.#options;
    const { resolve } = kinds.hooks;
    return describePlugin(source, { disabled, clock, log, resolve, deadlineMs: this.#lifecycle.stepMs });
  }

  /**
   * Brings the plugins in line with a new plan: takes down what is gone or switched off, replaces what comes from elsewhere
   * or runs elsewhere now, loads what is new. A version that does not come up leaves the one before it running.
   * @returns what became of each plugin that was concerned
   */
  align({ sources, disabled }: PluginPlan): Promise<readonly ReloadReport[]> {
    const asker = currentOwner();
    return this.#serially(async () => {
      const todo = alignmentOf([...this.#instances.values()], sources, disabled);
      const reports: ReloadReport[] = [];
      for (const instance of todo.gone) {
        await this.#recovery.leave(instance, "stopped", "it is not asked for any more");
        this.#instances.delete(instance.id);
        reports.push(reportOf(instance));
      }
      for (const instance of todo.disabled) {
        await this.#recovery.leave(instance, "disabled", disabledBy(instance.id));
        reports.push(reportOf(instance));
      }
      for (const { instance, source } of todo.changed) reports.push(await this.#takeSource(instance, source, asker));
      const added = await this.#admit(todo.added, disabled);
      await this.#activation.run();
      return [...reports, ...added.map(reportOf)];
    });
  }

  /** A package that may not be the one it was. */
  async #takeSource(
    instance: PluginInstance,
    source: PluginSource | MissingPlugin,
    asker: Owner | undefined,
  ): Promise<ReloadReport> {
    const { id } = instance;
    const found = await this.#describe(source);
    const { code, manifest } = found;
    if (code && found.state === "described" && found.id === id) {
      if (instance.state === "disabled") this.#lifecycle.move(instance, "described");
      return this.#renew(instance, { code, manifest, source: found.source }, asker);
    }
    const renamed = `its code says id "${found.id}" now; restart the gateway to take it as another plugin`;
    const reason = found.reason ?? renamed;
    if (instance.current) return notReloaded(instance, reason);
    instance.take(found);
    this.#recovery.settle(instance, { state: found.reason === undefined ? "blocked" : found.state, reason });
    return notReloaded(instance, reason);
  }

  /**
   * Loads a plugin's code anew and puts it in the place of the running one; brings back one that is not running.
   * @param id or what named it, e.g. a path
   * @param found its package as it is now. Default: what the place it came from says
   * @throws GatewayError `NOT_FOUND`
   */
  async reload(id: string, found?: PluginSource | MissingPlugin): Promise<ReloadReport> {
    const asker = currentOwner();
    const report = await this.#serially(() => this.#reload(id, found, asker));
    await breathe(); // whoever reloads again and again, waiting for nothing else, would keep the event loop to themselves
    return report;
  }

  async #reload(
    id: string,
    found: PluginSource | MissingPlugin | undefined,
    asker: Owner | undefined,
  ): Promise<ReloadReport> {
    const instance = this.#known(id);
    const { source } = instance;
    if (instance.state === "disabled") return notReloaded(instance, instance.reason ?? "it is disabled");
    const now = found ?? (("load" in source && source.again?.()) || source);
    if (instance.plugin || instance.manifest) return this.#takeSource(instance, now, asker);
    return this.#meet(instance, now);
  }

  /** One file that could not be imported so far: only now it says who it is. */
  async #meet(stranger: PluginInstance, source: PluginSource | MissingPlugin): Promise<ReloadReport> {
    const found = await this.#describe(source);
    if (!found.plugin) return notReloaded(stranger, found.reason ?? found.state);
    this.#instances.delete(stranger.id);
    const instance = this.#instances.has(found.id) ? duplicateOf(found) : found;
    this.#instances.set(instance.id, instance);
    await this.#activation.run();
    return reportOf(instance);
  }

  /**
   * Brings plugins in line with a new configuration: hot keys are handed to those that take them, the others are replaced.
   * @param hot ids of plugins of which only hot keys changed
   */
  reconfigure(ids: readonly string[], hot: ReadonlySet<string>): Promise<readonly ReloadReport[]> {
    const asker = currentOwner();
    return this.#serially(async () => {
      const reports: ReloadReport[] = [];
      const restarted = new Set<string>();
      for (const instance of this.#inOrder()) {
        const { id, code, source, manifest } = instance;
        if (!ids.includes(id) || restarted.has(id) || !code || instance.state === "disabled") continue;
        if (hot.has(id) && (await this.#absorbs(instance))) continue;
        const report = await this.#renew(instance, { code, source, manifest }, asker);
        for (const other of report.restarted) restarted.add(other);
        reports.push(report);
      }
      return reports;
    });
  }

  /** Stops everything, in reverse order. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const { cancelRetry } of this.#instances.values()) cancelRetry?.();
    await this.#changes;
    for (const instance of this.#inOrder().reverse()) {
      const { current } = instance;
      if (!current) continue;
      this.#lifecycle.move(instance, "draining");
      await current.dispose(this.#options.clock);
      instance.current = undefined;
      this.#lifecycle.move(instance, "stopped");
    }
  }

  /** After what is under way, whatever became of that. @throws GatewayError `UNAVAILABLE` once the gateway stops */
  #serially<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#changes.then(() => {
      if (!this.#stopping) return change();
      throw new GatewayError("UNAVAILABLE", "the gateway is stopping; ask the next one", { retryAfterMs: 1_000 });
    });
    this.#changes = done.catch(() => undefined);
    return done;
  }

  #known(id: string): PluginInstance {
    const named = (one: PluginInstance) => one.source.origin === id;
    const instance = this.#instances.get(id) ?? [...this.#instances.values()].find(named);
    if (instance) return instance;
    const ids = [...this.#instances.keys()].sort().join(", ");
    throw new GatewayError("NOT_FOUND", `no plugin "${id}" in this gateway; there are: ${ids}`);
  }

  #inOrder(): PluginInstance[] {
    const last = Number.POSITIVE_INFINITY;
    return [...this.#instances.values()].sort((left, right) => (left.position ?? last) - (right.position ?? last));
  }

  /** Replaces what runs; sets up anew what does not. */
  async #renew(instance: PluginInstance, version: Version, asker: Owner | undefined): Promise<ReloadReport> {
    instance.failures.clear();
    await this.#activation.wakeProviders(version.code.plugin);
    if (instance.current && instance.state === "active") {
      return replace(instance, version, {
        lifecycle: this.#lifecycle,
        log: this.#options.log,
        asker,
        instances: () => this.#inOrder(),
        activate: () => this.#activation.run(),
        failed: (failed, { reason }) => this.#recovery.settle(failed, { state: "failed", reason }),
      });
    }
    instance.take(version);
    instance.code = version.code;
    this.#recovery.ready(instance);
    await this.#activation.run();
    return reportOf(instance);
  }

  /** Hands a running plugin its new configuration. @returns whether it took it */
  async #absorbs({ id, current }: PluginInstance): Promise<boolean> {
    const handler = current?.staged?.declared.of(configHandlers).at(-1)?.handler;
    if (!current || !handler || !current.ready) return false;
    const config = this.#options.configure(current.code.plugin);
    if ("issue" in config) return false;
    try {
      const handled = current.owner.run(() => handler(config.value, config.sections));
      await within(this.#lifecycle.stepMs, this.#options.clock, handled);
      current.config = config;
      return true;
    } catch (error) {
      current.owner.charge(error, `configChanged of plugin ${id}`);
      return false;
    }
  }
}

/** A throw counts as yes. */
function isBusy(owner: Owner, check: () => boolean): boolean {
  try {
    return owner.run(check);
  } catch (error) {
    owner.charge(error, "busy()");
    return true;
  }
}

function unknownSections(section: string | undefined): Record<string, undefined> {
  return section === undefined ? {} : { [section]: undefined };
}

function notReloaded(instance: PluginInstance, reason: string): ReloadReport {
  return { ...reportOf(instance), ok: false, reason };
}

/** What became of one that was not replaced while it ran. It is as wished when it runs, or does not because somebody said so. */
function reportOf({ id, state, reason, generation, current }: PluginInstance): ReloadReport {
  const ok = state === "active" || state === "disabled" || state === "stopped";
  return {
    id,
    ok,
    state,
    generation: current?.number ?? generation,
    rolledBack: false,
    restarted: [],
    heldMs: 0,
    ...(state === "active" || reason === undefined ? {} : { reason }),
  };
}
