/**
 * Starts, replaces and stops plugins.
 *
 * described -> (disabled) | blocked | pending -> staged -> starting -> active -> draining -> stopped, or failed; `state.ts` lists all states.
 * First every `setup` runs, level by level, and nothing it declares is visible. Then all declarations are committed in one synchronous
 * step. Then the plugins start in the same order. A failing plugin affects only itself and the plugins that require it.
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
import { sectionsOf } from "./kinds/sections.ts";
import { Lifecycle, type LifecycleOptions } from "./lifecycle.ts";
import type { MissingPlugin, PluginSource } from "./load.ts";
import type { PluginPlan } from "./plan.ts";
import { PluginSet } from "./plugin-set.ts";
import { Reconciler } from "./reconcile.ts";
import { Recovery } from "./recovery.ts";
import type { HostParts } from "./staging.ts";
import type { PluginState } from "./state.ts";

/** Stage of the tap on `resolve` that imports the code here: every other tap runs first. */
const LAST = 1_000;

/** A section of the configuration and its owner; `schema` is `undefined` while the plugin is not loaded. */
export interface OwnedSection {
  readonly section: string;
  readonly plugin: string;
  readonly schema: TSchema | undefined;
}

/** A plugin that declares a name and is not running. */
export interface AbsentPlugin extends PluginReport {
  /** Time until the gateway tries again by itself; absent: it does not. ms */
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
   * Names of the plugins that should run and do not; safe to show to unauthenticated clients. Choice: a plugin that is being replaced counts
   * as running, since calls to it wait; a plugin without a manifest is named after the last path segment of its origin.
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

  /** Everything known about one plugin. @throws GatewayError `NOT_FOUND` */
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

  /** Declarations of a plugin, by kind. For a plugin that is not running: those known without running its setup. */
  #declares({ plugin, manifest, current }: PluginInstance): PluginInspection["declares"] {
    return this.#options.kinds.describe({ plugin, manifest, declared: current?.staged?.declared });
  }

  /** Report and declarations of each plugin. */
  inventory(): (PluginReport & Pick<PluginInspection, "declares">)[] {
    return this.#set.byId().map((instance) => ({ ...this.#reportOf(instance), declares: this.#declares(instance) }));
  }

  /** Measurements of each plugin: calls, errors, memory. */
  measures(): PluginMeasures[] {
    return this.#set.byId().map((instance) => {
      const { id, version, state } = instance.report([]);
      return { id, version, state, ...instance.stats(), ...instance.tally.details() };
    });
  }

  /** Attributes a block of the event loop to its owner. @returns `false` if `owner` is not a current generation of this gateway's plugins */
  blocked(owner: Owner, block: EventLoopBlock): boolean {
    const instance = this.#set.get(owner.id);
    if (instance?.current?.owner !== owner) return false;
    instance.tally.blocked(block.ms);
    owner.charge(blockError(block), "event loop");
    return true;
  }

  /** Imports the code of configured plugins whose sections only that code can validate. Never rejects. */
  async importChecks(isConfigured: (plugin: PluginFacts) => boolean): Promise<void> {
    for (const instance of this.#set.all()) {
      const { code } = instance;
      if (!code?.lacksChecks || !isConfigured(code.plugin)) continue;
      await this.#lifecycle.load(instance, code).catch(() => undefined); // reported when the configuration change starts the plugin
    }
  }

  /** Every configuration section with the plugin that owns it. */
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

  /** The plugin of this gateway that declares the name but is not running, with the reason and the time of the next attempt. */
  absent(kind: AnyKind, name: string): AbsentPlugin | undefined {
    const found = this.#set.all().find((instance) => instance.state !== "active" && instance.declares(kind, name));
    if (!found) return undefined;
    const retryAfterMs = this.#comesBackIn(found);
    return { ...found.report([]), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  }

  /** Milliseconds until the plugin may run without intervention; `undefined`: an operator has to act. */
  #comesBackIn({ state, retryAt }: PluginInstance): number | undefined {
    if (!this.#lifecycle.announces && LOADING.has(state)) return RETRY_MS;
    const next = retryAt ?? (state === "pending" ? this.#nextRetry() : undefined); // it waits for one of the plugins that are retried
    return next === undefined ? undefined : Math.max(RETRY_MS, next - this.#options.clock.now());
  }

  /** Time of the earliest retry of any plugin. epoch ms */
  #nextRetry(): number | undefined {
    const times = this.#set.all().flatMap(({ retryAt }) => retryAt ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Hold of a plugin that declares the name and is being replaced: a use of the name waits for it, as the new version may declare it. */
  holdFor(kind: AnyKind, name: string): Hold | undefined {
    for (const instance of this.#set.all()) if (instance.hold && instance.declares(kind, name)) return instance.hold;
    return undefined;
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
   * Loads and starts every plugin of the plan. A failing plugin never makes it throw.
   * @param host what the host provides to plugins
   * @param check called after all plugins are resolved and before any is set up; if it throws, so does `boot`
   */
  async boot(plan: PluginPlan, host: HostParts, check?: () => Promise<void>): Promise<void> {
    this.#lifecycle.host = host;
    await this.#reconciler.plan(plan, check);
    this.#lifecycle.announces = true;
  }

  /** Applies a new plan. @returns the outcome for each affected plugin */
  reconcile(plan: PluginPlan): Promise<readonly ReloadReport[]> {
    return this.#reconciler.plan(plan);
  }

  /**
   * Loads a plugin's code again and replaces the running version; starts a plugin that is not running.
   * @param id the plugin id, or its origin, e.g. a path
   * @param found its current package. Default: read again from where the plugin came from
   * @throws GatewayError `NOT_FOUND`
   */
  reload(id: string, found?: PluginSource | MissingPlugin): Promise<ReloadReport> {
    return this.#reconciler.reload(id, found);
  }

  /** Applies a new configuration to plugins. @param hot ids of plugins whose hot keys alone changed */
  reconfigure(ids: readonly string[], hot: ReadonlySet<string>): Promise<readonly ReloadReport[]> {
    return this.#reconciler.configure(ids, hot);
  }

  /** Stops all plugins, in reverse start order. */
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

/** A check that throws counts as busy. */
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
/** Shortest retry delay suggested to clients. ms */
const RETRY_MS = 500;

function unknownSections(section: string | undefined): Record<string, undefined> {
  return section === undefined ? {} : { [section]: undefined };
}
