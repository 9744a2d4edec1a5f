/** What becomes of plugins that fail: they rest, with what needs them, and come back by themselves, later each time. */
import type { Clock, Logger } from "@svc/sdk";
import type { LifecycleEvents, Lifecycle, NotStaged } from "./lifecycle.ts";
import type { Generation } from "./generation.ts";
import { tokenOf } from "./graph.ts";
import type { PluginInstance } from "./instance.ts";
import type { PluginFacts } from "./kind.ts";
import type { PluginState } from "./state.ts";

export interface RecoveryOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
  /** All plugins, in their order. */
  inOrder(): readonly PluginInstance[];
  /** Sets up, commits and starts everything that is `described`. */
  activate(): Promise<void>;
  /** After what is under way; not at all once the gateway stops. */
  later(change: () => Promise<void>): void;
}

export class Recovery implements LifecycleEvents {
  readonly #options: RecoveryOptions;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /** Its state for now, and its next attempt when the gateway makes one by itself. */
  settle(instance: PluginInstance, { state, reason, retryMs }: NotStaged): void {
    const { lifecycle } = this.#options;
    lifecycle.seal(instance);
    lifecycle.move(instance, state, reason);
    if (retryMs !== undefined) this.#retryLater(instance, retryMs);
  }

  #retryLater(instance: PluginInstance, ms: number): void {
    const { clock, later, activate } = this.#options;
    instance.cancelRetry?.();
    instance.retryAt = clock.now() + ms;
    instance.cancelRetry = clock.setTimeout(() => {
      later(async () => {
        if (instance.retryAt === undefined) return;
        this.ready(instance);
        await activate();
      });
    }, ms);
  }

  /** It may be set up again. */
  ready(instance: PluginInstance): void {
    instance.cancelRetry?.();
    instance.cancelRetry = undefined;
    instance.retryAt = undefined;
    this.#options.lifecycle.move(instance, "described");
  }

  /** An operator would rather not have it: its gates open. */
  async leave(instance: PluginInstance, state: PluginState, reason: string): Promise<void> {
    instance.cancelRetry?.();
    instance.retryAt = undefined;
    await this.#rest(instance, `waits for plugin ${instance.id}, which is ${state}`);
    instance.unseal();
    this.#options.lifecycle.move(instance, state, reason);
  }

  /** Too many failures in too short a time: it rests, and with it what needs it. */
  failed(instance: PluginInstance): void {
    const { clock, log, later } = this.#options;
    const now = clock.elapsed();
    const { current: failing, id } = instance;
    if (!instance.failures.add(now) || instance.state !== "active") return;
    const restMs = instance.failures.quarantine(now);
    log.error({ plugin: id, restMs }, `plugin ${id} failed too often and rests for ${restMs / 1_000} s`);
    later(async () => {
      if (instance.state !== "active" || instance.current !== failing) return; // replaced meanwhile
      await this.#rest(instance, `waits for plugin ${id}, which is in quarantine`);
      const reason = `failed 5 times within a minute; see the log, mend it, then: svc plugins reload ${id}`;
      this.settle(instance, { state: "quarantined", reason, retryMs: restMs });
    });
  }

  /** Its thread or process is gone: it comes back by itself, until that was too often. */
  died(instance: PluginInstance, generation: Generation, error: Error): void {
    if (instance.current !== generation) return;
    generation.owner.charge(error, `its ${instance.placement}`);
    this.#options.later(async () => {
      if (instance.current !== generation) return; // in quarantine, or replaced meanwhile
      await this.#rest(instance, `waits for plugin ${instance.id}, which is to be started again`);
      this.settle(instance, { state: "failed", reason: error.message, retryMs: instance.failures.restartMs });
    });
  }

  /** Takes a plugin down and, before it, all that cannot do without its services. @param waiting what those are told */
  async #rest(instance: PluginInstance, waiting: string): Promise<void> {
    const { lifecycle, inOrder } = this.#options;
    const services = new Set(instance.plugin?.provides?.map(({ id }) => id));
    for (const other of [...inOrder()].reverse()) {
      const { plugin, current } = other;
      if (other === instance || !current || !plugin || !needs(plugin, services)) continue;
      await this.#rest(other, waiting);
      this.settle(other, { state: "pending", reason: waiting });
    }
    await lifecycle.takeDown(instance);
  }
}

function needs(plugin: PluginFacts, services: ReadonlySet<string>): boolean {
  return Object.values(plugin.requires ?? {})
    .map((requirement) => tokenOf(requirement))
    .some(({ token, hard }) => hard && services.has(token.id));
}
