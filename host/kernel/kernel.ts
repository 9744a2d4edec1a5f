/**
 * Brings plugins up, replaces them and takes them down.
 *
 * described -> (disabled) | blocked | pending -> staged -> starting -> active -> draining -> stopped, or failed; all states are in `state.ts`.
 * All `setup`s run level by level without anybody seeing a thing, then everything is committed in one
 * synchronous step, then resources are acquired in the same order. One plugin's failure costs it and what needs it.
 */
import { basename } from "node:path";
import type { TSchema } from "@svc/sdk";
import type { EventLoopBlock } from "@svc/sdk/gateway";
import type { PluginInspection, PluginMeasures, PluginReport, ReloadReport } from "@svc/sdk/plugins";
import type { Hold, Owner } from "../hooks/owner.ts";
import { Activation } from "./activation.ts";
import { blockError } from "./failure.ts";
import type { PluginInstance } from "./instance.ts";
import type { AnyKind, PluginFacts } from "./kind.ts";
import { busy } from "./kinds/busy.ts";
import { methods } from "./kinds/methods.ts";
import { sectionsOf } from "./kinds/sections.ts";
import { Lifecycle, type LifecycleOptions } from "./lifecycle.ts";
import type { MissingPlugin, PluginSource } from "./load.ts";
import type { PluginPlan } from "./plan.ts";
import { PluginSet } from "./plugin-set.ts";
import { Reconciler } from "./reconcile.ts";
import { Recovery } from "./recovery.ts";
import type { HostParts } from "./staging.ts";
import type { PluginState } from "./state.ts";

/** Other taps on `resolve` go before the one that imports. */
const LAST = 1_000;

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
  readonly #options: LifecycleOptions;
  readonly #set = new PluginSet();
  readonly #lifecycle: Lifecycle;
  readonly #reconciler: Reconciler;

  constructor(options: LifecycleOptions) {
    this.#options = options;
    const { log, clock, kinds } = options;
    kinds.hooks.resolve.tapPromise({ name: "here", stage: LAST }, async (source) => {
      const plugin = await source.load();
      return { plugin, setup: ({ gateway }) => plugin.setup(gateway as never) }; // typed by definePlugin
    });
    const lifecycle = (this.#lifecycle = new Lifecycle(options));
    const set = this.#set;
    const activation = new Activation(lifecycle, set);
    const recovery = new Recovery({ clock, log, set, lifecycle, activation });
    this.#reconciler = new Reconciler({ clock, log, set, lifecycle, activation, recovery });
  }

  reports(): PluginReport[] {
    return this.#set.byId().map((instance) => this.#reportOf(instance));
  }

  /**
   * Names of the plugins that are to run and do not, for anybody. Choice: one that is being replaced runs, since calls to it wait;
   * one without a manifest has the last part of what named it.
   */
  missing(): string[] {
    return this.#set
      .byId()
      .filter(({ state }) => state !== "active" && state !== "disabled" && state !== "reloading")
      .map(({ id, manifest, plugin }) => plugin?.id ?? manifest?.id ?? basename(id.split(" ", 1)[0] ?? ""));
  }

  #reportOf(instance: PluginInstance): PluginReport {
    const staged = instance.state === "active" ? instance.current?.staged : undefined;
    return instance.report(staged ? this.#options.kinds.inert(staged) : []);
  }

  /** Everything known of one plugin. @throws GatewayError `NOT_FOUND` */
  inspect(id: string): PluginInspection {
    const instance = this.#set.known(id);
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
    return this.#set.byId().map((instance) => ({ ...this.#reportOf(instance), declares: this.#declares(instance) }));
  }

  /** What each plugin costs. */
  measures(): PluginMeasures[] {
    return this.#set.byId().map((instance) => {
      const { id, version, state } = instance.report([]);
      return { id, version, state, ...instance.stats(), ...instance.tally.details() };
    });
  }

  /** An owner's code kept everything else waiting. @returns whether it is a plugin of this gateway's, and was charged */
  blocked(owner: Owner, block: EventLoopBlock): boolean {
    const instance = this.#set.get(owner.id);
    if (instance?.current?.owner !== owner) return false;
    instance.tally.blocked(block.ms);
    owner.charge(blockError(block), "event loop");
    return true;
  }

  /** Imports the code of plugins that are configured and whose sections nothing else can check. Never rejects. */
  async importChecks(isConfigured: (plugin: PluginFacts) => boolean): Promise<void> {
    for (const instance of this.#set.all()) {
      const { code } = instance;
      if (!code?.lacksChecks || !isConfigured(code.plugin)) continue;
      await this.#lifecycle.load(instance, code).catch(() => undefined); // told when the change makes it run
    }
  }

  /** Who owns which configuration section. */
  sections(): OwnedSection[] {
    return this.#set.all().flatMap(({ id, plugin, manifest, state }) => {
      const schemas = { ...sectionsOf(plugin), ...(plugin ? {} : unknownSections(manifest?.section ?? manifest?.id)) };
      return Object.entries(schemas).map(([section, schema]) => ({
        section,
        plugin: id,
        schema: state === "disabled" ? undefined : schema,
      }));
    });
  }

  /** Plugin of this gateway that would serve this method, were it running, why it is not, and when the gateway tries again. */
  absentProvider(method: string): AbsentPlugin | undefined {
    for (const instance of this.#set.all()) {
      if (!instance.declares(methods, method) || instance.state === "active") continue;
      const retryAfterMs = this.#comesBackIn(instance);
      return { ...instance.report([]), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    }
    return undefined;
  }

  /** Milliseconds until a plugin may be there by itself; `undefined`: somebody has to do something. */
  #comesBackIn({ state, retryAt }: PluginInstance): number | undefined {
    if (!this.#lifecycle.announces && LOADING.has(state)) return RETRY_MS;
    const next = retryAt ?? (state === "pending" ? this.#nextRetry() : undefined); // it waits for one of those
    return next === undefined ? undefined : Math.max(RETRY_MS, next - this.#options.clock.now());
  }

  /** When a plugin is tried again next. epoch ms */
  #nextRetry(): number | undefined {
    const times = this.#set.all().flatMap(({ retryAt }) => retryAt ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** What a use of an unknown name waits for: its plugin is being replaced by a version that may declare it. */
  holdFor(kind: AnyKind, name: string): Hold | undefined {
    for (const instance of this.#set.all()) if (instance.hold && instance.declares(kind, name)) return instance.hold;
    return undefined;
  }

  /** Plugin of this gateway that declares this when it runs, and does not run. */
  absent(kind: AnyKind, name: string): PluginReport | undefined {
    const instances = this.#set.all();
    return instances.find((one) => one.state !== "active" && one.declares(kind, name))?.report([]);
  }

  /** Ids of the plugins with work in flight that a planned stop or restart waits for. */
  busy(): readonly string[] {
    return this.#set
      .inOrder()
      .filter(({ current }) =>
        current?.staged?.declared.of(busy).some(({ check }) => current.ready && isBusy(current.owner, check)),
      )
      .map(({ id }) => id);
  }

  /**
   * Loads and starts everything of the plan. Never throws because of a plugin.
   * @param host what plugins get of the host
   * @param check called when all plugins are read and none is set up; its throw ends the start
   */
  async boot(plan: PluginPlan, host: HostParts, check?: () => Promise<void>): Promise<void> {
    this.#lifecycle.host = host;
    await this.#reconciler.plan(plan, check);
    this.#lifecycle.announces = true;
  }

  /** Brings the plugins in line with a new plan. @returns what became of each plugin concerned */
  reconcile(plan: PluginPlan): Promise<readonly ReloadReport[]> {
    return this.#reconciler.plan(plan);
  }

  /**
   * Loads a plugin's code anew and puts it in the place of the running one; brings back one that is not running.
   * @param id or what named it, e.g. a path
   * @param found its package as it is now. Default: what the place it came from says
   * @throws GatewayError `NOT_FOUND`
   */
  reload(id: string, found?: PluginSource | MissingPlugin): Promise<ReloadReport> {
    return this.#reconciler.reload(id, found);
  }

  /** Brings plugins in line with a new configuration. @param hot ids of plugins of which only hot keys changed */
  reconfigure(ids: readonly string[], hot: ReadonlySet<string>): Promise<readonly ReloadReport[]> {
    return this.#reconciler.configure(ids, hot);
  }

  /** Stops everything, in reverse order. */
  async stop(): Promise<void> {
    await this.#set.close();
    for (const instance of this.#set.inOrder().reverse()) {
      const { current } = instance;
      if (!current) continue;
      this.#lifecycle.move(instance, "draining");
      await current.dispose(this.#options.clock);
      instance.current = undefined;
      this.#lifecycle.move(instance, "stopped");
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

/** States before a plugin runs for the first time. */
const LOADING: ReadonlySet<PluginState> = new Set(["described", "pending", "staged", "starting"]);
/** Milliseconds after which it is worth asking again for what comes by itself. */
const RETRY_MS = 500;

function unknownSections(section: string | undefined): Record<string, undefined> {
  return section === undefined ? {} : { [section]: undefined };
}
