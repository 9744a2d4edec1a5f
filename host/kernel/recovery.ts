/** Takes failing plugins down, together with the plugins that require them, and restarts them after growing delays. */
import type { Clock, Logger } from "@svc/sdk";
import type { Activation } from "./activation.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { TOO_OFTEN } from "./failure.ts";
import type { Generation } from "./generation.ts";
import { tokenOf } from "./graph.ts";
import type { PluginInstance } from "./instance.ts";
import type { PluginFacts } from "./kind.ts";
import type { PluginSet } from "./plugin-set.ts";
import type { PluginState } from "./state.ts";

export interface RecoveryOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly set: PluginSet;
  readonly lifecycle: Lifecycle;
  readonly activation: Activation;
}

export class Recovery {
  readonly #options: RecoveryOptions;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    const { failed, died, renewed, due } = options.lifecycle.hooks;
    failed.tap("recovery", (instance) => this.#failed(instance));
    died.tap("recovery", (instance, generation, error) => this.#died(instance, generation, error));
    renewed.tap("recovery", (instance, generation, reason) => this.#renew(instance, generation, reason));
    due.tap("recovery", (instance) => this.#retry(instance));
  }

  /** Queues a change; it is dropped once the gateway is stopping. */
  #later(change: () => Promise<void>): void {
    const { set, log } = this.#options;
    set.change(change).catch((error: unknown) => {
      if (!set.isClosed) log.error({ err: error }, "a plugin could not be stopped or restarted");
    });
  }

  #retry(instance: PluginInstance): void {
    const { lifecycle, activation } = this.#options;
    this.#later(async () => {
      if (instance.retryAt === undefined) return;
      lifecycle.toDescribed(instance);
      await activation.run();
    });
  }

  /** Stops a plugin that an operator disabled or removed, with the plugins that require it, and unseals its gates. */
  async leave(instance: PluginInstance, state: PluginState, reason: string): Promise<void> {
    instance.cancelRetry?.();
    instance.retryAt = undefined;
    await this.#rest(instance, `waits for plugin ${instance.id}, which is ${state}`);
    instance.unseal();
    this.#options.lifecycle.move(instance, state, reason);
  }

  /** Counts a failure; too many within a minute send the plugin into quarantine and take down the plugins that require it. */
  #failed(instance: PluginInstance): void {
    const { clock, log, lifecycle } = this.#options;
    const now = clock.elapsed();
    const { current: failing, id } = instance;
    if (!instance.failures.add(now) || instance.state !== "active") return;
    const restMs = instance.failures.quarantine(now);
    log.error(
      { plugin: id, restMs },
      `plugin ${id} ${TOO_OFTEN} and is in quarantine for ${restMs / 1_000} s; next: svc plugins why ${id}`,
    );
    this.#later(async () => {
      if (instance.state !== "active" || instance.current !== failing) return; // replaced or taken down meanwhile
      await this.#rest(instance, `waits for plugin ${id}, which is in quarantine`);
      const reason = `${TOO_OFTEN}; see the log, fix it, then run: svc plugins reload ${id}`;
      lifecycle.settle(instance, { state: "quarantined", reason, retryMs: restMs });
    });
  }

  /**
   * Called when the thread or process of a plugin ended: takes the plugin down and restarts it after a delay, unless
   * the failure leads to quarantine.
   */
  #died(instance: PluginInstance, generation: Generation, error: Error): void {
    if (instance.current !== generation) return;
    const { lifecycle } = this.#options;
    generation.owner.charge(error, `its ${instance.placement}`);
    this.#later(async () => {
      if (instance.current !== generation) return; // in quarantine, or replaced meanwhile
      await this.#rest(instance, `waits for plugin ${instance.id}, which is being restarted`);
      lifecycle.settle(instance, { state: "failed", reason: error.message, retryMs: instance.failures.restartMs });
    });
  }

  /** A generation asks to be stopped and started again: no failure, so there is no delay. */
  #renew(instance: PluginInstance, generation: Generation, reason: string): void {
    const { lifecycle, activation } = this.#options;
    this.#later(async () => {
      if (instance.current !== generation || generation.owner.signal.aborted) return; // taken down or replaced meanwhile
      await this.#rest(instance, `waits for plugin ${instance.id}, which is being restarted`);
      lifecycle.move(instance, "described", reason);
      await activation.run();
    });
  }

  /**
   * Takes down a plugin, after the plugins with a hard requirement on its services. @param waiting reason shown for the
   * plugins that require it
   */
  async #rest(instance: PluginInstance, waiting: string): Promise<void> {
    const { lifecycle, set } = this.#options;
    const services = new Set(instance.plugin?.provides?.map(({ id }) => id));
    for (const other of set.inOrder().reverse()) {
      const { plugin, current } = other;
      if (other === instance || !current || !plugin || !needs(plugin, services)) continue;
      await this.#rest(other, waiting);
      lifecycle.settle(other, { state: "pending", reason: waiting });
    }
    await lifecycle.takeDown(instance);
  }
}

function needs(plugin: PluginFacts, services: ReadonlySet<string>): boolean {
  return Object.values(plugin.requires ?? {})
    .map((requirement) => tokenOf(requirement))
    .some(({ token, hard }) => hard && services.has(token.id));
}
