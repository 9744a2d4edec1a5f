/** All plugins of one gateway, and the queue that serializes changes to them. */
import { GatewayError } from "@svc/sdk";
import type { PluginInstance } from "./instance.ts";

export class PluginSet {
  readonly #instances = new Map<string, PluginInstance>();
  #changes: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get(id: string): PluginInstance | undefined {
    return this.#instances.get(id);
  }

  /** In the order they were added. */
  all(): PluginInstance[] {
    return [...this.#instances.values()];
  }

  byId(): PluginInstance[] {
    return this.all().sort((left, right) => (left.id < right.id ? -1 : 1));
  }

  /** In the order of their first setup; plugins never set up come last. */
  inOrder(): PluginInstance[] {
    const last = Number.POSITIVE_INFINITY;
    return this.all().sort((left, right) => (left.position ?? last) - (right.position ?? last));
  }

  /** @param id the plugin id, or its origin, e.g. a path. @throws GatewayError `NOT_FOUND` */
  known(id: string): PluginInstance {
    const instance = this.get(id) ?? this.all().find(({ source }) => source.origin === id);
    if (instance) return instance;
    const ids = [...this.#instances.keys()].sort().join(", ");
    throw new GatewayError("NOT_FOUND", `unknown plugin "${id}"; plugins of this gateway: ${ids}`);
  }

  add(instance: PluginInstance): void {
    this.#instances.set(instance.id, instance);
  }

  delete({ id }: PluginInstance): void {
    this.#instances.delete(id);
  }

  /**
   * Runs changes one at a time: two concurrent changes would set up the same waiting plugin twice.
   * @throws GatewayError `UNAVAILABLE` once the gateway is stopping
   */
  change<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#changes.then(() => {
      if (!this.#isClosed) return work();
      throw new GatewayError("UNAVAILABLE", "the gateway is stopping; try again after its restart", {
        retryAfterMs: 1_000,
      });
    });
    this.#changes = done.catch(() => undefined);
    return done;
  }

  /** Rejects further changes and cancels all retries. Resolves when the running change has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { cancelRetry } of this.#instances.values()) cancelRetry?.();
    await this.#changes;
  }
}
