/**
 * Changes which plugins run, their versions and their configurations: at the start, for a new plan, for a reload, and for a new
 * configuration. Every change is a set of steps that `#reconcile` executes in a fixed order.
 */
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Clock, Logger } from "@svc/sdk";
import type { ReloadReport } from "@svc/sdk/plugins";
import { within } from "../clock.ts";
import type { Owner } from "../hooks/owner.ts";
import type { Activation } from "./activation.ts";
import { currentOwner } from "./current-owner.ts";
import { resolvePlugin, disabledBy, duplicateOf } from "./describe.ts";
import type { PluginInstance } from "./instance.ts";
import { configHandlers } from "./kinds/config-handlers.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { MissingPlugin, PluginSource } from "./load.ts";
import { changesTo, type PlanChanges, type PluginPlan } from "./plan.ts";
import type { PluginSet } from "./plugin-set.ts";
import type { Recovery } from "./recovery.ts";
import { replace, type Version } from "./replace.ts";

export interface ReconcilerOptions {
  readonly log: Logger;
  readonly clock: Clock;
  readonly set: PluginSet;
  readonly lifecycle: Lifecycle;
  readonly activation: Activation;
  readonly recovery: Recovery;
}

type Source = PluginSource | MissingPlugin;

/** The steps of one change. */
interface Steps extends PlanChanges {
  readonly disabledIds: ReadonlySet<string>;
  /** Ids of plugins whose configuration changed. */
  readonly configured: readonly string[];
  /** Ids of those whose hot keys alone changed. */
  readonly hot: ReadonlySet<string>;
  /** Owner whose call requested the change: a replacement does not wait for that call. */
  readonly asker: Owner | undefined;
  /** Called before the added plugins are set up; if it throws, they stay `described`. */
  readonly check?: (() => Promise<void>) | undefined;
}

const NO_STEPS = { gone: [], disabled: [], changed: [], added: [], disabledIds: new Set<string>() } as const;
const NO_CONFIG = { configured: [], hot: new Set<string>() } as const;

export class Reconciler {
  readonly #options: ReconcilerOptions;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /**
   * Takes down removed and disabled plugins, replaces those with another source or placement, loads new ones.
   * If a new version does not start, the previous one keeps running. @returns the outcome for each affected plugin
   * @param check called before the new plugins are set up. @throws what `check` throws
   */
  plan(plan: PluginPlan, check?: () => Promise<void>): Promise<readonly ReloadReport[]> {
    return this.#change((set) => ({ ...changesTo(plan, set.all()), disabledIds: plan.disabled, ...NO_CONFIG, check }));
  }

  /** @throws GatewayError `NOT_FOUND` */
  async reload(id: string, found?: Source): Promise<ReloadReport> {
    const [report] = await this.#change((set) => {
      const instance = set.known(id);
      const { source } = instance;
      if (instance.state === "disabled") return instance.outcome({ ok: false });
      const now = found ?? (("load" in source && source.again?.()) || source);
      return { ...NO_STEPS, ...NO_CONFIG, changed: [{ instance, source: now }] };
    });
    await yieldToOthers(); // otherwise a caller that reloads in a loop would starve the event loop
    if (!report) throw new Error(`the reload of plugin ${id} has no report`);
    return report;
  }

  /**
   * Passes the new configuration to plugins that can apply their hot keys, and replaces the other plugins.
   * @param hot ids of plugins whose hot keys alone changed
   */
  configure(ids: readonly string[], hot: ReadonlySet<string>): Promise<readonly ReloadReport[]> {
    return this.#change(() => ({ ...NO_STEPS, configured: ids, hot }));
  }

  /** Queues a change. @param stepsOf evaluated when the previous change has ended; returns a report if there is nothing to do */
  #change(stepsOf: (set: PluginSet) => Omit<Steps, "asker"> | ReloadReport): Promise<readonly ReloadReport[]> {
    const { set } = this.#options;
    const asker = currentOwner();
    return set.change(async () => {
      const steps = stepsOf(set);
      return "state" in steps ? [steps] : this.#reconcile({ ...steps, asker });
    });
  }

  async #reconcile({ gone, disabled, changed, added, ...rest }: Steps): Promise<readonly ReloadReport[]> {
    const { set, activation, recovery } = this.#options;
    const { disabledIds, asker } = rest;
    const reports: ReloadReport[] = [];
    for (const instance of gone) {
      await recovery.leave(instance, "stopped", "it is no longer requested");
      set.delete(instance);
      reports.push(instance.outcome());
    }
    for (const instance of disabled) {
      await recovery.leave(instance, "disabled", disabledBy(instance.id));
      reports.push(instance.outcome());
    }
    for (const { instance, source } of changed) reports.push(await this.#changeSource(instance, source, asker));
    reports.push(...(await this.#changeConfigs(rest)));
    const admitted = await Promise.all(added.map((source) => this.#resolve(source, disabledIds)));
    const instances = admitted.map((found) => this.#admit(found));
    await rest.check?.();
    await activation.run();
    return [...reports, ...instances.map((instance) => instance.outcome())];
  }

  #resolve(source: Source, disabled: ReadonlySet<string> = new Set()): Promise<PluginInstance> {
    const { clock, log, lifecycle } = this.#options;
    const { resolve } = lifecycle.kinds.hooks;
    return resolvePlugin(source, { disabled, clock, log, resolve, deadlineMs: lifecycle.stepMs });
  }

  /** Adds a plugin to the set, its gates sealed; the next activation sets it up if it can run. */
  #admit(found: PluginInstance): PluginInstance {
    const { set, lifecycle } = this.#options;
    const instance = set.get(found.id) ? duplicateOf(found) : found;
    set.add(instance);
    if (instance.state !== "disabled") lifecycle.seal(instance);
    return instance;
  }

  /** Applies a source that may differ from the plugin's current one. */
  async #changeSource(instance: PluginInstance, source: Source, asker: Owner | undefined): Promise<ReloadReport> {
    const { set, lifecycle, activation } = this.#options;
    const { id } = instance;
    const found = await this.#resolve(source); // only the code, package and state of this instance are used
    const { code, manifest } = found;
    const wasNeverRead = !instance.plugin && !instance.manifest; // a single file that could not be imported before has an id only now
    if (code && wasNeverRead) {
      set.delete(instance);
      const admitted = this.#admit(found);
      await activation.run();
      return admitted.outcome();
    }
    if (code && found.state === "described" && found.id === id) {
      if (instance.state === "disabled") lifecycle.move(instance, "described");
      return this.#renew(instance, { code, manifest, source: found.source }, asker);
    }
    const renamed = `its code now has the id "${found.id}"; restart the gateway to load it as a new plugin`;
    const reason = found.reason ?? renamed;
    if (instance.current) return instance.outcome({ ok: false, reason });
    instance.takePackage(found);
    lifecycle.settle(instance, { state: found.reason === undefined ? "blocked" : found.state, reason });
    return instance.outcome({ ok: false, reason });
  }

  async #changeConfigs({ configured, hot, asker }: Pick<Steps, "configured" | "hot" | "asker">) {
    const reports: ReloadReport[] = [];
    const restarted = new Set<string>();
    for (const instance of this.#options.set.inOrder()) {
      const { id, code, source, manifest } = instance;
      if (!configured.includes(id) || restarted.has(id) || !code || instance.state === "disabled") continue;
      if (hot.has(id) && (await this.#absorbs(instance))) continue;
      const report = await this.#renew(instance, { code, source, manifest }, asker);
      for (const other of report.restarted) restarted.add(other);
      reports.push(report);
    }
    return reports;
  }

  /** Replaces a running plugin; sets up again one that is not running. */
  async #renew(instance: PluginInstance, version: Version, asker: Owner | undefined): Promise<ReloadReport> {
    const { lifecycle, activation } = this.#options;
    instance.failures.clear();
    await activation.wakeProviders(version.code.plugin);
    if (instance.current && instance.state === "active") return replace(instance, version, { ...this.#options, asker });
    instance.takePackage(version);
    instance.code = version.code;
    lifecycle.toDescribed(instance);
    await activation.run();
    return instance.outcome();
  }

  /** Passes the new configuration to a plugin's `configChanged`; wakes a sleeping plugin. @returns whether the handler applied it */
  async #absorbs({ id, current }: PluginInstance): Promise<boolean> {
    const { lifecycle, clock } = this.#options;
    await current?.wake?.();
    const handler = current?.staged?.declared.of(configHandlers).at(-1)?.handler;
    if (!current || !handler || !current.ready) return false;
    const config = lifecycle.configOf(current.code.plugin);
    if ("issue" in config) return false;
    try {
      const handled = current.owner.run(() => handler(config.value, config.sections));
      await within(lifecycle.stepMs, clock, handled);
      current.config = config;
      return true;
    } catch (error) {
      current.owner.charge(error, `configChanged of plugin ${id}`);
      return false;
    }
  }
}
