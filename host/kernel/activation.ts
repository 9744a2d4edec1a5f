/**
 * Activates every plugin that can run and does not yet: runs each `setup`, level by level, with nothing visible; then commits all of them in
 * one synchronous step; then starts them in the same order.
 */
import type { Requirement } from "@svc/sdk";
import { type GraphNode, type Order, orderPlugins, tokenOf } from "./graph.ts";
import { TOO_OFTEN } from "./failure.ts";
import type { PluginInstance } from "./instance.ts";
import type { PluginFacts } from "./kind.ts";
import { services as SERVICES } from "./kinds/services.ts";
import type { Lifecycle, NotStaged, StagedGeneration } from "./lifecycle.ts";
import type { PluginSet } from "./plugin-set.ts";

export class Activation {
  readonly #lifecycle: Lifecycle;
  readonly #set: PluginSet;
  #positions = 0;

  constructor(lifecycle: Lifecycle, set: PluginSet) {
    this.#lifecycle = lifecycle;
    this.#set = set;
  }

  /** Sets up, commits and starts every plugin that can run and does not yet. Never rejects. */
  async run(): Promise<void> {
    const { levels, waiting } = this.#plan();
    for (const [id, reason] of waiting) await this.#giveUp(this.#set.get(id), { state: "pending", reason });
    const next = levels.flat().flatMap((id) => this.#set.get(id) ?? []);
    const asleep = asleepOf(
      next.filter((instance) => this.#lifecycle.maySleep(instance)),
      [...next, ...this.#running().filter((one) => !isAsleep(one))],
    );
    for (const { plugin } of next.filter((one) => !asleep.has(one))) await this.wakeProviders(plugin);
    const staged = await this.#stageAll(levels, asleep);
    const conflicts = staged.flatMap(({ instance, result }) => {
      const conflict = this.#lifecycle.commit(instance, result);
      return conflict === undefined ? [] : [{ instance, conflict }];
    });
    for (const { instance, conflict } of conflicts) await this.#giveUp(instance, { state: "failed", reason: conflict });
    await this.#startAll(staged.map(({ instance }) => instance));
  }

  #services() {
    return this.#lifecycle.kinds.table(SERVICES);
  }

  #plan(): Order {
    const waiting = this.#set
      .all()
      .filter(({ state, retryAt }) => state === "described" || (state === "pending" && retryAt === undefined));
    const nodes = waiting.flatMap(({ id, plugin }): GraphNode[] => (plugin ? [{ id, plugin }] : []));
    const own = new Set(nodes.flatMap(({ plugin }) => plugin.provides?.map(({ id }) => id) ?? []));
    // Services left over from a waiting plugin's former generation do not count: the plugin is about to provide them again.
    const taken = new Set(this.#running().flatMap(({ plugin }) => plugin?.provides?.map(({ id }) => id) ?? []));
    const available = this.#services()
      .list()
      .map(({ token }) => token)
      .filter(({ id }) => !own.has(id) || taken.has(id));
    return orderPlugins(nodes, available);
  }

  #running(): PluginInstance[] {
    return this.#set.all().filter(({ current, state }) => current && (state === "active" || state === "starting"));
  }

  async #stageAll(
    levels: Order["levels"],
    asleep: ReadonlySet<PluginInstance>,
  ): Promise<{ instance: PluginInstance; result: StagedGeneration }[]> {
    const services = new Map<string, unknown>();
    const staged: { instance: PluginInstance; result: StagedGeneration }[] = [];
    for (const level of levels) {
      const instances = level.flatMap((id) => this.#set.get(id) ?? []);
      for (const instance of instances) instance.position ??= this.#positions++;
      const results = await Promise.all(
        instances.map((instance) => this.#stage(instance, services, asleep.has(instance))),
      );
      for (const result of results) {
        if (!result) continue;
        staged.push(result);
        for (const { token, value } of result.result.staged.declared.of(SERVICES)) services.set(token.id, value);
      }
    }
    return staged;
  }

  async #stage(instance: PluginInstance, services: ReadonlyMap<string, unknown>, maySleep: boolean) {
    const { code } = instance;
    if (!code) return undefined;
    const asleep = maySleep ? await this.#lifecycle.stageAsleep(instance, code, () => this.#wake(instance)) : undefined;
    if (asleep) return this.#staged(instance, asleep);
    const lacking = this.#lacking(code.plugin, (id) => services.has(id));
    if (lacking !== undefined) {
      const reason = `waits for the service ${lacking}, whose plugin did not start`;
      await this.#giveUp(instance, { state: "pending", reason });
      return undefined;
    }
    return this.#staged(instance, await this.#lifecycle.stage(instance, code, services));
  }

  async #staged(instance: PluginInstance, result: StagedGeneration | NotStaged) {
    if (!("generation" in result)) {
      await this.#giveUp(instance, result);
      return undefined;
    }
    this.#lifecycle.move(instance, "staged");
    return { instance, result };
  }

  /** Id of a hard-required service that is neither staged nor provided. */
  #lacking(plugin: PluginFacts, isStaged: (id: string) => boolean): string | undefined {
    return Object.values(plugin.requires ?? {})
      .map((requirement) => tokenOf(requirement))
      .find(({ token, hard }) => hard && !isStaged(token.id) && !this.#services().get(token.id))?.token.id;
  }

  /** Starts in order; a plugin waits only for the plugins whose services it requires. */
  async #startAll(instances: readonly PluginInstance[]): Promise<void> {
    const started = new Map<string, Promise<void>>();
    for (const instance of instances) {
      const providers = this.#providersOf(instance).map((id) => started.get(id) ?? Promise.resolve());
      started.set(
        instance.id,
        Promise.all(providers).then(() => this.#start(instance)),
      );
    }
    await Promise.all(started.values());
  }

  /** Ids of the plugins whose services this one was set up with. */
  #providersOf({ plugin }: PluginInstance): string[] {
    return Object.values(plugin?.requires ?? {}).flatMap((requirement) => {
      const { token, ordered } = tokenOf(requirement);
      return ordered ? (this.#services().get(token.id)?.owner.id ?? []) : [];
    });
  }

  async #start(instance: PluginInstance): Promise<void> {
    const { plugin } = instance;
    if (instance.state !== "starting" || !plugin) return;
    if (instance.current?.isAsleep) return this.#lifecycle.asleep(instance);
    if (this.#lacking(plugin, () => false) !== undefined) {
      return this.#giveUp(instance, {
        state: "pending",
        reason: "waits for a plugin it requires, which did not start",
      });
    }
    const failure = await this.#lifecycle.start(instance);
    if (failure) this.#failed(instance, failure);
  }

  #failed(instance: PluginInstance, failure: NotStaged): void {
    this.#lifecycle.settle(
      instance,
      failure.state === "failed" ? this.#nextAttempt(instance, failure.reason) : failure,
    );
  }

  /** Wakes the plugins whose services this one uses: the service of a sleeping plugin has no value. @param kinds of requirements; default: all */
  async wakeProviders(plugin: PluginFacts | undefined, kinds?: readonly Requirement["kind"][]): Promise<void> {
    for (const requirement of Object.values(plugin?.requires ?? {})) {
      if ((kinds && !kinds.includes(requirement.kind)) || wakesByItself(requirement)) continue;
      const provider = this.#services().get(tokenOf(requirement).token.id)?.owner.id;
      if (provider !== undefined) await this.#set.get(provider)?.current?.wake?.();
    }
  }

  /** Wakes a sleeping plugin after the providers of its required services. Never rejects: callers that wait look the plugin up again. */
  async #wake(instance: PluginInstance): Promise<void> {
    const { current, plugin } = instance;
    if (!current?.wake || !plugin) return;
    await this.wakeProviders(plugin, ["service", "optional"]);
    const lacking = this.#lacking(plugin, () => false);
    const failure: NotStaged | undefined =
      lacking === undefined
        ? await this.#lifecycle.awaken(instance, current)
        : { state: "pending", reason: `waits for the service ${lacking}, whose plugin did not start` };
    if (!failure) return this.wakeProviders(plugin, ["live"]); // last: those plugins may require this one
    if (instance.current !== current) return;
    await this.#lifecycle.takeDown(instance);
    this.#failed(instance, failure);
  }

  /** Retries after a delay that doubles with each failure; too many failures within a minute lead to quarantine. */
  #nextAttempt({ id, failures }: PluginInstance, reason: string): NotStaged {
    const now = this.#lifecycle.clock.elapsed();
    if (!failures.add(now)) return { state: "failed", reason, retryMs: failures.restartMs };
    const why = `${reason}; ${TOO_OFTEN}; fix it, then run: svc plugins reload ${id}`;
    return { state: "quarantined", reason: why, retryMs: failures.quarantine(now) };
  }

  /** Takes down what is left of a former generation, so that it is no longer used, and sets the state. */
  async #giveUp(instance: PluginInstance | undefined, failure: NotStaged): Promise<void> {
    if (!instance) return;
    await this.#lifecycle.takeDown(instance);
    this.#lifecycle.settle(instance, failure);
  }
}

/** The candidates whose services no awake plugin uses. @param others every plugin that may be awake, candidates included */
function asleepOf(candidates: readonly PluginInstance[], others: readonly PluginInstance[]): Set<PluginInstance> {
  const asleep = new Set(candidates);
  for (let shrank = true; shrank;) {
    const awake = others.filter((one) => !asleep.has(one));
    const used = candidates.filter((instance) => asleep.has(instance) && isUsed(instance, awake));
    for (const instance of used) asleep.delete(instance);
    shrank = used.length > 0;
  }
  return asleep;
}

function isAsleep({ current }: PluginInstance): boolean {
  return current?.isAsleep === true;
}

/** Whether one of `by` uses a service of the plugin that has no value while the plugin is asleep. */
function isUsed({ plugin }: PluginInstance, by: readonly PluginInstance[]): boolean {
  const services = new Set(plugin?.provides?.map(({ id }) => id));
  if (services.size === 0) return false;
  return by.some((other) =>
    Object.values(other.plugin?.requires ?? {}).some(
      (requirement) => services.has(tokenOf(requirement).token.id) && !wakesByItself(requirement),
    ),
  );
}

/** Whether calls of the service wake its plugin, so that the requirement does not have to. */
function wakesByItself(requirement: Requirement): boolean {
  return requirement.kind === "live" && requirement.token.remotable === true;
}
