/**
 * Brings plugins up, replaces them and takes them down.
 *
 * described -> (disabled) | blocked | pending -> staged -> starting -> active -> draining -> stopped, or failed.
 * All `setup`s run level by level without anybody seeing a thing, then everything is committed in one
 * synchronous step, then resources are acquired in the same order. One plugin's failure costs it and what needs it.
 */
import { GatewayError, type Plugin, type TSchema } from "@svc/sdk";
import type { PluginReport, ReloadReport } from "@svc/sdk/services";
import { within } from "../clock.ts";
import type { Hold, Owner } from "../hooks/owner.ts";
import { currentOwner } from "./blame.ts";
import { Activation } from "./activation.ts";
import { checkCode, describePlugin, duplicateOf } from "./describe.ts";
import { tokenOf } from "./graph.ts";
import { PluginInstance } from "./instance.ts";
import type { PluginState } from "./state.ts";
import { Lifecycle, type LifecycleOptions, type NotStaged } from "./lifecycle.ts";
import type { MissingPlugin, PluginSource } from "./load.ts";
import { replace } from "./replacement.ts";

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
  /** One change at a time: two would set the same waiting plugin up twice. */
  #changes: Promise<unknown> = Promise.resolve();
  #stopping = false;

  constructor(options: KernelOptions) {
    this.#options = options;
    this.#lifecycle = new Lifecycle(options, (instance) => this.#countFailure(instance));
    this.#activation = new Activation({
      lifecycle: this.#lifecycle,
      instances: this.#instances,
      settle: (instance, failure) => this.#settle(instance, failure),
    });
  }

  reports(): PluginReport[] {
    const { registry } = this.#options;
    const byId = [...this.#instances.values()].sort((left, right) => (left.id < right.id ? -1 : 1));
    return byId.map((instance) => {
      const { current, state } = instance;
      return instance.report(current?.declarations && state === "active" ? registry.inert(current.declarations) : []);
    });
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
      if (!instance.serves(method) || instance.state === "active") continue;
      const { retryAt } = instance;
      const retryAfterMs = retryAt === undefined ? undefined : Math.max(500, retryAt - this.#options.clock.now());
      return { ...instance.report([]), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    }
    return this.#options.unloaded(method);
  }

  /** What a call of an unknown method waits for: its plugin is being replaced by a version that has it, perhaps. */
  holdFor(method: string): Hold | undefined {
    for (const instance of this.#instances.values()) if (instance.hold && instance.serves(method)) return instance.hold;
    return undefined;
  }

  /** The same for a contribution to an extension point. */
  holdForContribution(point: string, id: string): Hold | undefined {
    for (const instance of this.#instances.values())
      if (instance.hold && instance.contributes(point, id)) return instance.hold;
    return undefined;
  }

  /** Plugin of this gateway that contributes this when it runs, and does not run. */
  absentContributor(point: string, id: string): PluginReport | undefined {
    const instances = [...this.#instances.values()];
    return instances.find((one) => one.state !== "active" && one.contributes(point, id))?.report([]);
  }

  /** Whether some plugin has work under way that a planned restart should wait for. */
  isBusy(): boolean {
    return this.#inOrder().some(({ current }) =>
      current?.declarations?.busyChecks.some((check) => current.ready && current.owner.run(check)),
    );
  }

  /** Loads and starts everything of the plan. Never throws because of a plugin. */
  async boot(plan: PluginPlan): Promise<void> {
    const { clock, log } = this.#options;
    const options = { disabled: plan.disabled, clock, log, deadlineMs: this.#lifecycle.stepMs };
    const described = await Promise.all(plan.sources.map((source) => describePlugin(source, options)));
    for (const found of described) {
      const instance = this.#instances.has(found.id) ? duplicateOf(found) : found;
      this.#instances.set(instance.id, instance);
      if (instance.state !== "disabled") this.#lifecycle.seal(instance);
    }
    await this.#serially(() => this.#activation.run());
    this.#lifecycle.announces = true;
  }

  /**
   * Loads a plugin's code anew and puts it in the place of the running one; brings back one that is not running.
   * @param id or what named it, e.g. a path
   * @param found its package as it is now. Default: as it was when it was found
   * @throws GatewayError `NOT_FOUND`
   */
  reload(id: string, found?: PluginSource | MissingPlugin): Promise<ReloadReport> {
    const asker = currentOwner();
    return this.#serially(async () => {
      const known = this.#known(id);
      if (found && !("load" in found)) return notReloaded(known, found.reason);
      const { source, manifest } = known;
      if (found) Object.assign(known, { source: found, manifest: found.manifest });
      const plugin = await this.#freshCode(known);
      const instance = typeof plugin === "string" ? known : this.#named(known, plugin.id);
      const revert = () => void Object.assign(instance, { source, manifest });
      const report =
        typeof plugin === "string" ? notReloaded(instance, plugin) : await this.#renew(instance, plugin, asker, revert);
      if (!report.ok) revert();
      return report;
    });
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
        const { id, plugin } = instance;
        if (!ids.includes(id) || restarted.has(id) || !plugin || instance.state === "disabled") continue;
        if (hot.has(id) && (await this.#absorbs(instance))) continue;
        const report = await this.#renew(instance, plugin, asker);
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
    const instances = [...this.#instances.values()];
    const instance = this.#instances.get(id) ?? instances.find(({ source }) => source?.origin === id);
    if (instance) return instance;
    const ids = [...this.#instances.keys()].sort().join(", ");
    throw new GatewayError("NOT_FOUND", `no plugin "${id}" in this gateway; there are: ${ids}`);
  }

  #inOrder(): PluginInstance[] {
    const last = Number.POSITIVE_INFINITY;
    return [...this.#instances.values()].sort((left, right) => (left.position ?? last) - (right.position ?? last));
  }

  /** Under the id its code says: a mere file that could not be read has no name but its path until it can. */
  #named(instance: PluginInstance, id: string): PluginInstance {
    if (instance.id === id) return instance;
    const named = new PluginInstance(id, instance.source, instance.manifest);
    this.#instances.delete(instance.id);
    this.#instances.set(id, named);
    return named;
  }

  /** @returns why there is none */
  async #freshCode({ id, source, manifest, plugin: former }: PluginInstance): Promise<Plugin | string> {
    if (!source) return "its package is not there; install it, then restart the gateway";
    try {
      const plugin = await within(this.#lifecycle.stepMs, this.#options.clock, source.load());
      const isUnnamed = former === undefined && id === source.origin;
      if (isUnnamed && this.#instances.has(plugin.id)) return `its id "${plugin.id}" is taken by another plugin`;
      if (plugin.id !== id && !isUnnamed)
        return `its code says id "${plugin.id}" now; restart the gateway to take it as another plugin`;
      return checkCode(plugin, manifest) ?? plugin;
    } catch (error) {
      return `import: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  /** Replaces what runs; sets up anew what does not. */
  async #renew(
    instance: PluginInstance,
    plugin: Plugin,
    asker: Owner | undefined,
    revert: () => void = () => {},
  ): Promise<ReloadReport> {
    instance.failures.clear();
    if (instance.state === "disabled") return notReloaded(instance, instance.reason ?? "it is disabled");
    if (instance.current && instance.state === "active") {
      return replace(instance, plugin, {
        lifecycle: this.#lifecycle,
        log: this.#options.log,
        asker,
        revert,
        instances: () => this.#inOrder(),
        activate: () => this.#activation.run(),
        failed: (failed, { reason }) => this.#settle(failed, { state: "failed", reason }),
      });
    }
    instance.plugin = plugin;
    this.#ready(instance);
    await this.#activation.run();
    const { id, state, reason, generation } = instance;
    const ok = state === "active";
    return {
      id,
      ok,
      state,
      generation,
      rolledBack: false,
      restarted: [],
      heldMs: 0,
      ...(ok || reason === undefined ? {} : { reason }),
    };
  }

  /** Hands a running plugin its new configuration. @returns whether it took it */
  async #absorbs({ id, current }: PluginInstance): Promise<boolean> {
    const handler = current?.declarations?.configHandler;
    if (!current || !handler || !current.ready) return false;
    const config = this.#options.configure(current.plugin);
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

  /** Its state for now, and its next attempt when the gateway makes one by itself. */
  #settle(instance: PluginInstance, { state, reason, retryMs }: NotStaged): void {
    this.#lifecycle.seal(instance);
    this.#lifecycle.move(instance, state, reason);
    if (retryMs !== undefined) this.#retryLater(instance, retryMs);
  }

  #retryLater(instance: PluginInstance, ms: number): void {
    const { clock } = this.#options;
    instance.cancelRetry?.();
    instance.retryAt = clock.now() + ms;
    instance.cancelRetry = clock.setTimeout(() => {
      void this.#serially(async () => {
        if (instance.retryAt === undefined) return;
        this.#ready(instance);
        await this.#activation.run();
      });
    }, ms);
  }

  /** It may be set up again. */
  #ready(instance: PluginInstance): void {
    instance.cancelRetry?.();
    instance.cancelRetry = undefined;
    instance.retryAt = undefined;
    this.#lifecycle.move(instance, "described");
  }

  /** Too many failures in too short a time: it rests, and with it what needs it. */
  #countFailure(instance: PluginInstance): void {
    const now = this.#options.clock.elapsed();
    const failing = instance.current;
    if (!instance.failures.add(now) || instance.state !== "active" || this.#stopping) return;
    const restMs = instance.failures.quarantine(now);
    const { log } = this.#options;
    log.error(
      { plugin: instance.id, restMs },
      `plugin ${instance.id} failed too often and rests for ${restMs / 1_000} s`,
    );
    void this.#serially(async () => {
      if (instance.state !== "active" || instance.current !== failing) return; // replaced meanwhile
      await this.#rest(instance);
      const reason = `failed 5 times within a minute; see the log, mend it, then: svc plugins reload ${instance.id}`;
      this.#settle(instance, { state: "quarantined", reason, retryMs: restMs });
    });
  }

  /** Takes a plugin down and, before it, all that cannot do without its services. */
  async #rest(instance: PluginInstance): Promise<void> {
    const services = new Set(instance.plugin?.provides?.map(({ id }) => id));
    for (const other of this.#inOrder().reverse()) {
      const { plugin, current } = other;
      if (other === instance || !current || !plugin || !needs(plugin, services)) continue;
      await this.#rest(other);
      this.#settle(other, { state: "pending", reason: `waits for plugin ${instance.id}, which is in quarantine` });
    }
    await this.#lifecycle.takeDown(instance);
  }
}

function needs(plugin: Plugin, services: ReadonlySet<string>): boolean {
  return Object.values(plugin.requires ?? {})
    .map((requirement) => tokenOf(requirement))
    .some(({ token, hard }) => hard && services.has(token.id));
}

/** Sections of a loaded plugin with their schemas. */
export function sectionsOf(plugin: Plugin | undefined): Record<string, TSchema> {
  if (!plugin) return {};
  return { ...(plugin.config ? { [plugin.section ?? plugin.id]: plugin.config } : {}), ...plugin.sections };
}

function unknownSections(section: string | undefined): Record<string, undefined> {
  return section === undefined ? {} : { [section]: undefined };
}

function notReloaded(instance: PluginInstance, reason: string): ReloadReport {
  const { id, state, generation } = instance;
  return {
    id,
    ok: false,
    reason,
    state: state satisfies PluginState,
    generation,
    rolledBack: false,
    restarted: [],
    heldMs: 0,
  };
}
