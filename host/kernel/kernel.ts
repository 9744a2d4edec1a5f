/**
 * Brings plugins up and takes them down.
 *
 * described -> (disabled) | blocked | pending -> staged -> starting -> active -> draining -> stopped, or failed.
 * All `setup`s run level by level without anybody seeing a thing, then everything is committed in one
 * synchronous step, then resources are acquired in the same order. One plugin's failure costs it and what needs it.
 */
import { type Clock, HOOKS, type HookEmitter, type Logger, type Plugin, type Principal, type TSchema } from "@svc/sdk";
import type { PluginReport } from "@svc/sdk/services";
import type { HookBus } from "../hooks/hook-bus.ts";
import { describePlugin, duplicateOf } from "./describe.ts";
import { failureOf } from "./failure.ts";
import { type GraphNode, type Order, orderPlugins, tokenOf } from "./graph.ts";
import { PluginInstance, type PluginState, within } from "./instance.ts";
import type { MissingPlugin, PluginSource } from "./load.ts";
import { servesMethod } from "./manifest.ts";
import { stagePlugin, type Staging, type Surroundings } from "./plugin-gateway.ts";
import type { Registry } from "./registry.ts";

export interface KernelOptions {
  readonly log: Logger;
  readonly clock: Clock;
  readonly hooks: HookBus;
  readonly registry: Registry;
  readonly surroundings: Omit<Surroundings, "log">;
  /** A plugin's validated section, or what is wrong with it. */
  configure(plugin: Plugin): { readonly value: unknown } | { readonly issue: string };
  /** Log of one plugin. */
  logFor(id: string): Logger;
  /** Mints what a plugin acts as when it calls methods. */
  principalFor(id: string, scopes: readonly string[]): Principal;
  /** Report of an installed plugin outside the plan that would serve this method. */
  unloaded(method: string): PluginReport | undefined;
  /** Milliseconds one plugin's import, setup or start may take. Default 10000. */
  readonly stepDeadlineMs?: number;
}

/** What to load. */
export interface PluginPlan {
  readonly sources: readonly (PluginSource | MissingPlugin)[];
  readonly disabled: ReadonlySet<string>;
}

export class Kernel {
  readonly #options: KernelOptions;
  readonly #instances = new Map<string, PluginInstance>();
  readonly #stateHook: HookEmitter<typeof HOOKS.pluginState>;
  readonly #retries = new Set<() => void>();
  /** One activation at a time: two would set the same waiting plugin up twice. */
  #activation: Promise<void> = Promise.resolve();
  #order: string[] = [];
  #booted = false;
  #stopping = false;

  constructor(options: KernelOptions) {
    this.#options = options;
    this.#stateHook = options.hooks.emitter(HOOKS.pluginState);
  }

  reports(): PluginReport[] {
    const { registry } = this.#options;
    const byId = [...this.#instances.values()].sort((left, right) => (left.id < right.id ? -1 : 1));
    return byId.map((instance) =>
      instance.report(
        instance.declarations && instance.state === "active" ? registry.inert(instance.declarations) : [],
      ),
    );
  }

  /** Who owns which configuration section; without a schema while the plugin is not loaded. */
  sections(): { section: string; plugin: string; schema: TSchema | undefined }[] {
    return [...this.#instances.values()].flatMap(({ id, plugin, manifest, state }) => {
      if (plugin && !plugin.config) return [];
      const section = plugin?.section ?? manifest?.section ?? plugin?.id ?? manifest?.id;
      if (section === undefined) return [];
      return [{ section, plugin: id, schema: state === "disabled" ? undefined : plugin?.config }];
    });
  }

  /** Plugin that would serve this method, were it running, and why it is not. */
  absentProvider(method: string): PluginReport | undefined {
    for (const instance of this.#instances.values()) {
      if (servesMethod(instance.manifest, method) && instance.state !== "active") return instance.report([]);
    }
    return this.#options.unloaded(method);
  }

  /** Loads and starts everything of the plan. Never throws because of a plugin. */
  async boot(plan: PluginPlan): Promise<void> {
    const { clock, log } = this.#options;
    const options = { disabled: plan.disabled, clock, log, deadlineMs: this.#stepMs };
    const described = await Promise.all(plan.sources.map((source) => describePlugin(source, options)));
    for (const found of described) {
      const instance = this.#instances.has(found.id) ? duplicateOf(found) : found;
      this.#instances.set(instance.id, instance);
    }
    await this.#activate();
    this.#booted = true;
  }

  /** Stops everything, in reverse order. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const cancel of this.#retries) cancel();
    await this.#activation;
    for (const id of [...this.#order].reverse()) {
      const instance = this.#instances.get(id);
      if (!instance || (instance.state !== "active" && instance.state !== "starting")) continue;
      this.#move(instance, "draining");
      await instance.dispose(this.#options.clock);
      this.#move(instance, "stopped");
    }
  }

  /** Sets up, commits and starts whatever can run and does not yet, after what is under way. Never rejects. */
  #activate(): Promise<void> {
    this.#activation = this.#activation.then(async () => {
      if (this.#stopping) return;
      const staged = await this.#stageAll(this.#plan());
      this.#commitAll(staged);
      await this.#startAll(staged.map(({ instance }) => instance));
    });
    return this.#activation;
  }

  #plan(): Order {
    const waiting = [...this.#instances.values()].filter(
      ({ state, resting }) => state === "described" || (state === "pending" && !resting),
    );
    const nodes = waiting.flatMap(({ id, plugin }): GraphNode[] => (plugin ? [{ id, plugin }] : []));
    const order = orderPlugins(nodes, this.#options.registry.services());
    for (const [id, reason] of order.waiting) {
      const instance = this.#instances.get(id);
      if (instance) this.#move(instance, "pending", reason);
    }
    return order;
  }

  async #stageAll(order: Order): Promise<{ instance: PluginInstance; staging: Staging }[]> {
    const services = new Map<string, unknown>();
    const staged: { instance: PluginInstance; staging: Staging }[] = [];
    let position = this.#order.length;
    for (const level of order.levels) {
      const results = await Promise.all(level.map((id) => this.#stage(id, position + level.indexOf(id), services)));
      position += level.length;
      for (const result of results) {
        if (!result) continue;
        staged.push(result);
        for (const { token, value } of result.staging.declarations.services) services.set(token.id, value);
      }
    }
    return staged;
  }

  async #stage(id: string, position: number, services: ReadonlyMap<string, unknown>) {
    const instance = this.#instances.get(id);
    const plugin = instance?.plugin;
    if (!instance || !plugin) return undefined;
    const { clock, registry, logFor, principalFor, configure, surroundings } = this.#options;
    const lacking = Object.values(plugin.requires ?? {})
      .map((requirement) => tokenOf(requirement))
      .find(({ token, hard }) => hard && registry.service(token.id) === undefined && !services.has(token.id));
    if (lacking) {
      this.#move(instance, "pending", `waits for the service ${lacking.token.id}, whose plugin did not come up`);
      return undefined;
    }
    const section = configure(plugin);
    if ("issue" in section) {
      this.#move(instance, "blocked", `configuration: ${section.issue}`);
      return undefined;
    }
    const log = logFor(id);
    const owner = instance.renew(position, log);
    const principal = principalFor(id, instance.manifest?.permissions?.calls ?? []);
    const staging = stagePlugin({
      plugin,
      owner,
      config: section.value,
      principal,
      surroundings: { ...surroundings, log },
      staged: services,
    });
    const begun = clock.elapsed();
    try {
      await within(
        this.#stepMs,
        clock,
        owner.run(() => plugin.setup(staging.gateway as never)),
      ); // typed by definePlugin
    } catch (error) {
      await this.#failed(instance, "setup", error);
      return undefined;
    } finally {
      staging.seal();
    }
    instance.timings.setupMs = Math.round(clock.elapsed() - begun);
    const unmet = plugin.provides?.find(
      (token) => !staging.declarations.services.some((service) => service.token.id === token.id),
    );
    if (unmet) {
      await this.#failed(instance, "setup", new Error(`it lists ${unmet.id} under "provides" and did not provide it`));
      return undefined;
    }
    this.#move(instance, "staged");
    return { instance, staging };
  }

  /** One synchronous step: from no declaration of these plugins to all of them. */
  #commitAll(staged: readonly { instance: PluginInstance; staging: Staging }[]): void {
    const { registry } = this.#options;
    for (const { instance, staging } of staged) {
      const { declarations } = staging;
      const conflict = registry.conflict(declarations, instance.manifest);
      if (conflict) {
        this.#move(instance, "failed", conflict);
        continue;
      }
      instance.declarations = declarations;
      instance.committed(registry.commit(declarations));
      this.#order.push(instance.id);
      this.#move(instance, "starting");
    }
  }

  /** Starts in order; a plugin waits for those it requires, not for the others. */
  async #startAll(instances: readonly PluginInstance[]): Promise<void> {
    const started = new Map<string, Promise<boolean>>();
    for (const instance of instances) {
      const providers = this.#providersOf(instance).map((id) => started.get(id) ?? Promise.resolve(this.#isUp(id)));
      started.set(
        instance.id,
        Promise.all(providers).then((up) => this.#start(instance, up.every(Boolean))),
      );
    }
    await Promise.all(started.values());
  }

  #isUp(id: string): boolean {
    return this.#instances.get(id)?.state === "active";
  }

  /** Running plugins whose services this one cannot do without. */
  #providersOf({ plugin }: PluginInstance): string[] {
    const wanted = Object.values(plugin?.requires ?? {})
      .map((requirement) => tokenOf(requirement))
      .filter(({ ordered }) => ordered)
      .map(({ token }) => token.id);
    return [...this.#instances.values()]
      .filter(({ declarations }) => declarations?.services.some(({ token }) => wanted.includes(token.id)))
      .map(({ id }) => id);
  }

  async #start(instance: PluginInstance, providersUp: boolean): Promise<boolean> {
    const { clock } = this.#options;
    const { declarations } = instance;
    if (instance.state !== "starting" || !declarations) return false;
    if (!providersUp && this.#lacksProvider(instance)) {
      await instance.dispose(clock);
      this.#forget(instance);
      this.#move(instance, "pending", "waits for a plugin it requires, which did not start");
      return false;
    }
    const begun = clock.elapsed();
    try {
      for (const begin of declarations.starts) {
        const stop = await within(this.#stepMs, clock, declarations.owner.run(begin));
        if (typeof stop === "function") instance.started(stop);
      }
    } catch (error) {
      await this.#failed(instance, "start", error);
      return false;
    }
    instance.timings.startMs = Math.round(clock.elapsed() - begun);
    this.#move(instance, "active");
    return true;
  }

  #lacksProvider({ plugin }: PluginInstance): boolean {
    return Object.values(plugin?.requires ?? {})
      .map((requirement) => tokenOf(requirement))
      .some(({ token, hard }) => hard && this.#options.registry.service(token.id) === undefined);
  }

  #forget({ id }: PluginInstance): void {
    this.#order = this.#order.filter((other) => other !== id);
  }

  /** Takes back what the plugin did so far and says what comes next. */
  async #failed(instance: PluginInstance, step: "setup" | "start", error: unknown): Promise<void> {
    const { clock, log } = this.#options;
    await instance.dispose(clock);
    this.#forget(instance);
    const { state, reason, retryMs, isBug } = failureOf(step, error);
    if (isBug) {
      instance.errors++;
      log.error({ plugin: instance.id, err: error }, `plugin ${instance.id} failed in ${step}`);
    }
    this.#move(instance, state, reason);
    if (retryMs !== undefined) this.#retryLater(instance, retryMs);
  }

  #retryLater(instance: PluginInstance, ms: number): void {
    instance.resting = true;
    const cancel = this.#options.clock.setTimeout(() => {
      this.#retries.delete(cancel);
      instance.resting = false;
      void this.#activate();
    }, ms);
    this.#retries.add(cancel);
  }

  #move(instance: PluginInstance, to: PluginState, reason?: string): void {
    const from = instance.state;
    instance.state = to;
    instance.reason = reason;
    if (!this.#booted || !this.#stateHook.isUsed()) return;
    void this.#stateHook.emit({ id: instance.id, from, to, ...(reason === undefined ? {} : { reason }) });
  }

  get #stepMs(): number {
    return this.#options.stepDeadlineMs ?? 10_000;
  }
}
