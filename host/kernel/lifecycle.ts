/**
 * The steps in one plugin's life: set it up, commit what it declared, start it, take it down.
 *
 * Each step acts on one plugin and says what became of it. Which plugins, and in which order, is decided in
 * `kernel.ts` (at a start) and `replacement.ts` (at a reload).
 */
import {
  type Clock,
  HOOKS,
  type HookEmitter,
  type HookSpec,
  type Logger,
  type Plugin,
  type Principal,
  type Stop,
} from "@svc/sdk";
import { within } from "../clock.ts";
import type { HookBus } from "../hooks/hook-bus.ts";
import type { Declarations } from "./declarations.ts";
import type { Lifeline } from "./lifeline.ts";
import { describeDeprecated } from "./deprecations.ts";
import { failureOf } from "./failure.ts";
import { Generation, type PluginConfig } from "./generation.ts";
import type { PluginInstance } from "./instance.ts";
import type { PluginState } from "./state.ts";
import { stagePlugin, type Surroundings } from "./plugin-gateway.ts";
import type { Registry } from "./registry.ts";

export interface LifecycleOptions {
  readonly log: Logger;
  readonly clock: Clock;
  readonly hooks: HookBus;
  readonly registry: Registry;
  readonly surroundings: Omit<Surroundings, "log">;
  /** A plugin's validated sections, or what is wrong with them. */
  configure(plugin: Plugin): PluginConfig | { readonly issue: string };
  /** Log of one plugin. */
  logFor(id: string): Logger;
  /** Mints what a plugin acts as when it calls methods. */
  principalFor(id: string, scopes: readonly string[]): Principal;
  /** Milliseconds one plugin's import, setup or start may take. Default 10000. */
  readonly stepDeadlineMs?: number;
}

/** A plugin that was set up and is not visible yet. */
export interface Staged {
  readonly generation: Generation;
  readonly declarations: Declarations;
}

/** A plugin that cannot be set up now. */
export interface NotStaged {
  readonly state: PluginState;
  readonly reason: string;
  readonly retryMs?: number;
}

export interface LifecycleEvents {
  /** Something of a plugin failed, which counts towards quarantine. */
  failed(instance: PluginInstance): void;
  /** A generation that runs elsewhere is gone. */
  died(instance: PluginInstance, generation: Generation, error: Error): void;
}

export class Lifecycle {
  readonly clock: Clock;
  readonly registry: Registry;
  readonly stepMs: number;
  readonly #options: LifecycleOptions;
  readonly #stateHook: HookEmitter<typeof HOOKS.pluginState>;
  readonly #onFailure: LifecycleEvents["failed"];
  readonly #onDeath: LifecycleEvents["died"];
  /** Nobody is told of states before the gateway has started once. */
  announces = false;

  constructor(options: LifecycleOptions, { failed, died }: LifecycleEvents) {
    this.#options = options;
    this.#onFailure = failed;
    this.#onDeath = died;
    this.clock = options.clock;
    this.registry = options.registry;
    this.stepMs = options.stepDeadlineMs ?? 10_000;
    this.#stateHook = options.hooks.emitter(HOOKS.pluginState);
  }

  move(instance: PluginInstance, to: PluginState, reason?: string): void {
    const from = instance.state;
    instance.state = to;
    instance.reason = reason;
    if (from === to || !this.announces || !this.#stateHook.isUsed()) return;
    void this.#stateHook.emit({ id: instance.id, from, to, ...(reason === undefined ? {} : { reason }) });
  }

  /**
   * Runs `setup`; nobody sees a thing of it yet. Changes nothing of the instance but its generation count and timings.
   * @param services staged by plugins that go first. @param config default: what the configuration says now
   */
  async stage(
    instance: PluginInstance,
    plugin: Plugin,
    services: ReadonlyMap<string, unknown>,
    config: PluginConfig | { readonly issue: string } = this.#options.configure(plugin),
  ): Promise<Staged | NotStaged> {
    if ("issue" in config) return { state: "blocked", reason: `configuration: ${config.issue}` };
    const { registry, logFor, principalFor, surroundings } = this.#options;
    const log = logFor(instance.id);
    const generation = new Generation({
      instance,
      number: ++instance.generation,
      order: instance.position ?? 0,
      plugin,
      config,
      clock: this.clock,
      log,
      onFailure: () => this.#onFailure(instance),
    });
    const { owner } = generation;
    const { gateway, declarations, seal } = stagePlugin({
      plugin,
      owner,
      config,
      principal: principalFor(instance.id, instance.manifest?.permissions?.calls ?? []),
      surroundings: { ...surroundings, log },
      staged: services,
    });
    const begun = this.clock.elapsed();
    try {
      const lifeline: Lifeline = {
        run: (work) => owner.run(work),
        charge: (error, where) => owner.charge(error, where),
        died: (error) => this.#onDeath(instance, generation, error),
        memory: (read) => void (generation.memory = read),
      };
      const { setup: begin } = plugin as unknown as { setup(gateway: unknown, lifeline: Lifeline): unknown }; // typed by definePlugin
      const setup = owner.run(() => begin.call(plugin, gateway, lifeline));
      await within(this.stepMs, this.clock, setup);
      const unmet = plugin.provides?.find(({ id }) => !declarations.services.some(({ token }) => token.id === id));
      if (unmet) throw new Error(`it lists ${unmet.id} under "provides" and did not provide it`);
      const conflict = registry.conflict(declarations, instance.manifest);
      if (conflict) return await this.#discard(generation, { state: "failed", reason: conflict });
    } catch (error) {
      return await this.#discard(generation, this.#failure(instance, "setup", error));
    } finally {
      seal();
    }
    instance.timings.setupMs = Math.round(this.clock.elapsed() - begun);
    return { generation, declarations };
  }

  async #discard(generation: Generation, result: NotStaged): Promise<NotStaged> {
    await generation.stop(this.clock); // whatever it began in setup against the rules ends with its signal
    return result;
  }

  #failure(instance: PluginInstance, step: "setup" | "start", error: unknown): NotStaged {
    const { state, reason, retryMs, isBug } = failureOf(step, error);
    if (isBug) {
      instance.charged(error, step, this.clock.now());
      this.#options.log.error({ plugin: instance.id, err: error }, `plugin ${instance.id} failed in ${step}`);
    }
    return { state, reason, ...(retryMs === undefined ? {} : { retryMs }) };
  }

  /**
   * Puts a staged generation in the place of the one before, in one synchronous step.
   * @returns why that is not possible, or `undefined`
   */
  commit(instance: PluginInstance, { generation, declarations }: Staged): string | undefined {
    const { registry } = this.#options;
    const conflict = registry.conflict(declarations, instance.manifest); // another plugin may have come first
    if (conflict) {
      void generation.stop(this.clock); // nothing has begun: only its signal aborts
      return conflict;
    }
    instance.current?.withdraw();
    generation.committed(declarations, registry.commit(declarations));
    instance.current = generation;
    instance.plugin = generation.plugin;
    instance.declared(
      declarations.methods.map(({ method }) => method.name),
      declarations.extensions.map(({ point, id }) => [point, id] as const),
    );
    this.move(instance, "starting");
    return undefined;
  }

  /** Acquires its resources. @returns `undefined` when it runs, else what became of it; it is taken down then */
  async start(instance: PluginInstance): Promise<NotStaged | undefined> {
    const generation = instance.current;
    if (!generation?.declarations) return { state: "failed", reason: "it was not set up" };
    const begun = this.clock.elapsed();
    try {
      for (const begin of generation.declarations.starts) {
        await this.#begin(generation, begin);
      }
    } catch (error) {
      await this.takeDown(instance);
      return this.#failure(instance, "start", error);
    }
    instance.timings.startMs = Math.round(this.clock.elapsed() - begun);
    generation.ready = true;
    this.#nameDeprecated(instance.id, describeDeprecated(generation.declarations.deprecated));
    instance.unseal();
    this.move(instance, "active");
    return undefined;
  }

  /** One line for all of them. */
  #nameDeprecated(id: string, uses: readonly string[]): void {
    if (uses.length === 0) return;
    this.#options.log.warn(
      { plugin: id, deprecated: uses },
      `plugin ${id} uses what will go away: ${uses.join(" | ")}`,
    );
  }

  /** @throws Error when it takes too long; what it acquires after that is released when it comes */
  async #begin(generation: Generation, begin: Declarations["starts"][number]): Promise<void> {
    const { owner } = generation;
    const beginning = owner.run(begin);
    try {
      const stop = await within(this.stepMs, this.clock, beginning);
      if (typeof stop === "function") generation.started(stop);
    } catch (error) {
      const release = (stop: void | Stop) => (typeof stop === "function" ? owner.run(stop) : undefined);
      Promise.resolve(beginning)
        .then(release, () => undefined)
        .catch((late: unknown) => owner.charge(late, "stop", "caller"));
      throw error;
    }
  }

  /** Stops it and takes its declarations back; its gates stay shut. */
  async takeDown(instance: PluginInstance): Promise<void> {
    this.seal(instance);
    await instance.current?.dispose(this.clock);
    instance.current = undefined;
  }

  /** Shuts the gates of a plugin that is away: what it guards stays guarded. Opened by its start, or by whoever disables it. */
  seal(instance: PluginInstance): void {
    if (instance.isSealed) return;
    const { hooks } = this.#options;
    const shut = gatesOf(instance).map(({ spec, key }) => hooks.seal(spec, key, instance.id));
    instance.sealed(shut);
  }
}

/** The gates a plugin stands at: those it tapped, else those its package lists. */
function gatesOf({ current, manifest }: PluginInstance): { spec: HookSpec; key: string | undefined }[] {
  const taps = current?.declarations?.taps.filter(({ spec }) => spec.kind === "gate");
  if (taps) return taps.map(({ spec, key }) => ({ spec, key }));
  return (manifest?.gates ?? []).flatMap((gate) => {
    const [name = "", key] = gate.split(/:(.*)/s);
    const spec = Object.values<HookSpec>(HOOKS).find((hook) => hook.name === name);
    return spec?.kind === "gate" ? [{ spec, key: spec.keyed ? key : undefined }] : [];
  });
}
