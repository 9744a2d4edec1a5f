/**
 * The lifecycle steps of one plugin: set it up, commit its declarations, start it, take it down.
 *
 * Each step acts on one plugin and returns the outcome. `activation.ts` and `replace.ts` decide which plugins take the steps, and in which
 * order.
 */
import {
  type Clock,
  deepFreeze,
  GatewayError,
  HOOKS,
  type HookEmitter,
  type Logger,
  type Principal,
  type Stop,
} from "@svc/sdk";
import { SyncHook } from "tapable";
import { within } from "../clock.ts";
import { Recorder } from "./declared.ts";
import { describeDeprecated } from "./deprecations.ts";
import { failureOf } from "./failure.ts";
import { Generation } from "./generation.ts";
import type { PluginInstance } from "./instance.ts";
import type { Kinds } from "./kernel-hooks.ts";
import {
  type Begin,
  type Carried,
  defaultsOf,
  type PluginConfig,
  type PluginFacts,
  type Staged,
  type Staging,
} from "./kind.ts";
import { hooks } from "./kinds/hooks.ts";
import { type HostParts, stagingOf } from "./staging.ts";
import type { PluginState } from "./state.ts";

export interface LifecycleOptions {
  readonly log: Logger;
  readonly clock: Clock;
  readonly kinds: Kinds;
  /** A plugin's validated sections, or why they are invalid. */
  configOf(plugin: PluginFacts): PluginConfig | { readonly issue: string };
  /** Whether the plugin's configuration differs from its defaults. */
  isConfigured(plugin: PluginFacts): boolean;
  /** Log of one plugin. */
  logFor(id: string): Logger;
  /** Mints the principal under which a plugin calls methods. */
  principalFor(id: string, scopes: readonly string[]): Principal;
  /** Milliseconds one plugin's import, setup or start may take. Default 10000. */
  readonly stepDeadlineMs?: number;
}

/** A generation that is set up and not yet committed. */
export interface StagedGeneration {
  readonly generation: Generation;
  readonly staged: Staged;
}

/** A plugin that cannot be set up now. */
export interface NotStaged {
  readonly state: PluginState;
  readonly reason: string;
  readonly retryMs?: number;
}

export class Lifecycle {
  readonly clock: Clock;
  readonly kinds: Kinds;
  readonly stepMs: number;
  /** What the host provides to plugins; set before the first setup. */
  host!: HostParts;
  readonly #options: LifecycleOptions;
  readonly #stateHook: HookEmitter<typeof HOOKS.pluginState>;
  readonly hooks = {
    /** Code of a plugin failed, and the failure counts towards quarantine. */
    failed: new SyncHook<[PluginInstance]>(["instance"]),
    /** The thread or process of a generation ended. */
    died: new SyncHook<[PluginInstance, Generation, Error]>(["instance", "generation", "error"]),
    /** A generation asks to be stopped and started again; the reason is for people. */
    renewed: new SyncHook<[PluginInstance, Generation, string]>(["instance", "generation", "reason"]),
    /** A plugin's retry is due. */
    due: new SyncHook<[PluginInstance]>(["instance"]),
  };
  /** `false` until the first start has completed: the hook `pluginState` is not emitted before. */
  announces = false;

  constructor(options: LifecycleOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.kinds = options.kinds;
    this.stepMs = options.stepDeadlineMs ?? 10_000;
    this.#stateHook = options.kinds.bus.emitter(HOOKS.pluginState);
    options.kinds.hooks.state.tap("pluginState", ({ reason, ...change }) => {
      if (!this.announces || !this.#stateHook.isUsed()) return;
      void this.#stateHook.emit({ ...change, ...(reason === undefined ? {} : { reason }) });
    });
  }

  move(instance: PluginInstance, to: PluginState, reason?: string): void {
    const from = instance.state;
    instance.state = to;
    instance.reason = reason;
    if (from !== to) this.kinds.hooks.state.call({ id: instance.id, from, to, reason });
  }

  /** Sets the state after a failure, seals the gates, and schedules the next attempt where `retryMs` is set. */
  settle(instance: PluginInstance, { state, reason, retryMs }: NotStaged): void {
    this.seal(instance);
    this.move(instance, state, reason);
    if (retryMs === undefined) return;
    instance.cancelRetry?.();
    instance.retryAt = this.clock.now() + retryMs;
    instance.cancelRetry = this.clock.setTimeout(() => this.hooks.due.call(instance), retryMs);
  }

  /** Cancels the retry; the next activation sets the plugin up. */
  toDescribed(instance: PluginInstance): void {
    instance.cancelRetry?.();
    instance.cancelRetry = undefined;
    instance.retryAt = undefined;
    this.move(instance, "described");
  }

  /** The current configuration of a plugin. */
  configOf(plugin: PluginFacts): PluginConfig | { readonly issue: string } {
    return this.#options.configOf(plugin);
  }

  /**
   * Imports the code unless that is done, and runs `setup`; nothing becomes visible. Changes only the instance's generation count, timings
   * and recorded failures.
   * @param services staged by plugins of earlier levels. @param config default: the current configuration
   */
  async stage(
    instance: PluginInstance,
    code: Carried,
    services: ReadonlyMap<string, unknown>,
    config: PluginConfig | { readonly issue: string } = this.configOf(code.plugin),
  ): Promise<StagedGeneration | NotStaged> {
    if ("issue" in config) return { state: "blocked", reason: `configuration: ${config.issue}` };
    const generation = this.#newGeneration(instance, code, config);
    const staged = await this.load(instance, code).then(
      () => this.#setUp(instance, generation, services, (staging) => code.setup(staging)),
      (error: unknown) => this.#failure(instance, "import", error),
    );
    if ("state" in staged) return this.#discard(generation, staged);
    return { generation, staged };
  }

  /** Whether a plugin may be asleep: its code was never needed, and its configuration equals the defaults its `declared.json` was written with. */
  maySleep({ code, generation }: PluginInstance): boolean {
    return code?.sleep !== undefined && generation === 0 && !this.#options.isConfigured(code.plugin);
  }

  /**
   * Stages a plugin without importing its code.
   * @param wake imports and starts the plugin; resolves when it runs or has failed
   * @returns `undefined` when the plugin cannot be asleep
   */
  async stageAsleep(
    instance: PluginInstance,
    code: Carried,
    wake: (generation: Generation) => Promise<void>,
  ): Promise<StagedGeneration | NotStaged | undefined> {
    const { sleep, plugin } = code;
    if (!sleep) return undefined;
    const generation = this.#newGeneration(instance, code, deepFreeze(defaultsOf(plugin)));
    let waking: Promise<void> | undefined;
    generation.wake = () => (waking ??= wake(generation));
    const awake = async () => {
      await generation.wake?.();
      const { staged, isAsleep } = generation;
      if (staged && !isAsleep && !generation.owner.signal.aborted) return staged.declared;
      throw new GatewayError("UNAVAILABLE", `plugin ${instance.id} is ${instance.state}: ${instance.reason ?? "-"}`);
    };
    const staged = await this.#setUp(instance, generation, new Map(), (staging) => sleep(staging, awake));
    if ("state" in staged) return this.#discard(generation, staged);
    return { generation, staged };
  }

  #newGeneration(instance: PluginInstance, code: Carried, config: PluginConfig): Generation {
    return new Generation({
      instance,
      number: ++instance.generation,
      order: instance.position ?? 0,
      code,
      config,
      clock: this.clock,
      log: this.#options.logFor(instance.id),
      hooks: this.kinds.hooks,
      onFailure: () => this.hooks.failed.call(instance),
    });
  }

  /** Imports the code of a plugin unless that is done. @throws Error the import failed or timed out */
  async load(instance: PluginInstance, { load }: Carried): Promise<void> {
    if (!load) return;
    const begun = this.clock.elapsed();
    await within(this.stepMs, this.clock, load());
    instance.timings.importMs = Math.round(this.clock.elapsed() - begun);
  }

  async #setUp(
    instance: PluginInstance,
    generation: Generation,
    services: ReadonlyMap<string, unknown>,
    setup: (staging: Staging) => void | Promise<void>,
  ): Promise<Staged | NotStaged> {
    const { kinds, host } = this;
    const { logFor, principalFor } = this.#options;
    const { manifest } = instance;
    const { owner } = generation;
    const { plugin } = generation.code;
    const recorder = new Recorder(plugin);
    const begun = this.clock.elapsed();
    try {
      const staging = stagingOf({
        host,
        kinds,
        generation,
        recorder,
        log: logFor(instance.id),
        principal: principalFor(instance.id, manifest?.permissions?.calls ?? []),
        stagedServices: services,
        died: (error) => this.hooks.died.call(instance, generation, error),
        restart: (reason) => this.hooks.renewed.call(instance, generation, reason),
      });
      await within(
        this.stepMs,
        this.clock,
        owner.run(() => setup(staging)),
      );
    } catch (error) {
      return this.#failure(instance, "setup", error);
    } finally {
      recorder.seal();
    }
    const staged: Staged = { plugin, manifest, owner, declared: recorder, live: kinds, bus: kinds.bus };
    const conflict = kinds.hooks.conflict.call(staged);
    if (conflict !== undefined) return { state: "failed", reason: conflict };
    instance.timings.setupMs = Math.round(this.clock.elapsed() - begun);
    return staged;
  }

  async #discard(generation: Generation, result: NotStaged): Promise<NotStaged> {
    await generation.stop(this.clock); // a setup that broke the rules and began work stops with this signal
    return result;
  }

  #failure(instance: PluginInstance, step: "import" | "setup" | "start", error: unknown): NotStaged {
    const { state, reason, retryMs, isBug } = failureOf(step, error);
    if (isBug) {
      instance.charged(error, step, this.clock.now());
      this.#options.log.error({ plugin: instance.id, err: error }, `plugin ${instance.id} failed in ${step}`);
    }
    return { state, reason, ...(retryMs === undefined ? {} : { retryMs }) };
  }

  /**
   * Replaces the previous generation by a staged one, in one synchronous step.
   * @returns why that is not possible, or `undefined`
   */
  commit(instance: PluginInstance, { generation, staged }: StagedGeneration): string | undefined {
    const former = instance.current;
    const conflict = this.kinds.hooks.conflict.call(staged); // another plugin may have committed the same names since
    if (conflict !== undefined) {
      void generation.stop(this.clock); // it has no resources yet, so this only aborts its signal
      return conflict;
    }
    former?.withdraw();
    const failure = this.#putInto(instance, generation, staged);
    if (failure !== undefined) {
      void generation.stop(this.clock);
      return failure;
    }
    instance.current = generation;
    instance.code = generation.code;
    this.move(instance, "starting");
    return undefined;
  }

  /** Commits the declarations. @returns why a kind could not take effect, after all of them were taken back; else `undefined` */
  #putInto(instance: PluginInstance, generation: Generation, staged: Staged): string | undefined {
    try {
      generation.committed(staged, this.kinds.commit(staged));
    } catch (error) {
      return this.#failure(instance, "setup", error).reason;
    }
    instance.declared = staged.declared;
    return undefined;
  }

  /** Completes the start of a plugin that was committed asleep: it acquires no resources. */
  asleep(instance: PluginInstance): void {
    instance.unseal();
    this.move(instance, "active");
  }

  /**
   * Imports the code of a sleeping plugin, replaces the declarations of `declared.json` by those of its setup, in the same generation, and
   * starts it. @returns `undefined` when it runs or was taken down meanwhile; else why it does not run
   */
  async awaken(instance: PluginInstance, generation: Generation): Promise<NotStaged | undefined> {
    const { code, owner } = generation;
    const isOver = () => owner.signal.aborted || instance.current !== generation;
    const staged = await this.load(instance, code).then(
      () => this.#setUp(instance, generation, new Map(), (staging) => code.setup(staging)),
      (error: unknown) => this.#failure(instance, "import", error),
    );
    if (isOver()) return undefined;
    if ("state" in staged) return staged;
    const { id: plugin } = instance;
    const stale = code.stale?.(staged.declared);
    if (stale !== undefined)
      this.#options.log.warn({ plugin }, `declared.json of plugin ${plugin} is stale: ${stale}; rebuild the plugin`);
    generation.withdraw();
    const failure = this.#putInto(instance, generation, staged);
    if (failure !== undefined) return { state: "failed", reason: failure };
    const notStarted = await this.start(instance);
    if (!notStarted) generation.wake = undefined;
    return notStarted;
  }

  /** Acquires the plugin's resources. @returns `undefined` when it runs; else the failure, after taking the plugin down */
  async start(instance: PluginInstance): Promise<NotStaged | undefined> {
    const generation = instance.current;
    const staged = generation?.staged;
    if (!staged) return { state: "failed", reason: "the plugin was not set up" };
    const begun = this.clock.elapsed();
    try {
      await this.kinds.hooks.started.promise(staged, (begin) => this.#begin(generation, begin));
    } catch (error) {
      await this.takeDown(instance);
      return this.#failure(instance, "start", error);
    }
    instance.timings.startMs = Math.round(this.clock.elapsed() - begun);
    generation.ready = true;
    this.#nameDeprecated(instance.id, describeDeprecated(staged.declared.deprecated));
    instance.unseal();
    this.move(instance, "active");
    return undefined;
  }

  /** Logs all deprecated uses in one line. */
  #nameDeprecated(id: string, uses: readonly string[]): void {
    if (uses.length === 0) return;
    this.#options.log.warn(
      { plugin: id, deprecated: uses },
      `plugin ${id} uses deprecated parts of the plugin API: ${uses.join(" | ")}`,
    );
  }

  /** @throws Error `begin` failed or timed out; what it acquires after a timeout is released at once */
  async #begin(generation: Generation, begin: Begin): Promise<void> {
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

  /** Stops the current generation and withdraws its declarations; its gates stay sealed. */
  async takeDown(instance: PluginInstance): Promise<void> {
    this.seal(instance);
    await instance.current?.dispose(this.clock);
    instance.current = undefined;
  }

  /** Seals the gates of a plugin that is not running: they deny everything until it starts, or until an operator disables or removes it. */
  seal(instance: PluginInstance): void {
    if (!instance.isSealed) instance.sealed(gatesOf(instance).map((gate) => this.kinds.bus.seal(gate, instance.id)));
  }
}

/** The gates of a plugin, as `<hook>` or `<hook>:<key>`: those it taps, or, without a generation, those its package lists. */
function gatesOf({ current, manifest }: PluginInstance): readonly string[] {
  const taps = current?.staged?.declared.of(hooks).filter(({ hook }) => hook.kind === "gate");
  return taps?.map((tap) => hooks.describe(tap).name) ?? manifest?.gates ?? [];
}
