/** One plugin of this gateway: its state and what became of it, over all its generations. */
import type { Plugin } from "@svc/sdk";
import type { PluginReport } from "@svc/sdk/services";
import { FailureWindow } from "./failure.ts";
import type { Generation } from "./generation.ts";
import type { ReplacementHold } from "./hold.ts";
import type { MissingPlugin, PluginSource } from "./load.ts";
import { contributes, type Manifest, servesMethod } from "./manifest.ts";
import type { PluginState } from "./state.ts";

export class PluginInstance {
  readonly id: string;
  /** Where its code comes from, or why it cannot be loaded. */
  source: PluginSource | MissingPlugin;
  manifest: Manifest | undefined;
  /** Its code, once imported. */
  plugin: Plugin | undefined;
  state: PluginState = "described";
  reason: string | undefined;
  /** The gateway's own next attempt; not tried before. epoch ms */
  retryAt: number | undefined;
  cancelRetry: (() => void) | undefined;
  /** Place in the order of plugins, kept over its generations. */
  position: number | undefined;
  current: Generation | undefined;
  /** Number of the newest generation. */
  generation = 0;
  errors = 0;
  /** Methods its newest generation declared: known also while it is away. */
  #methods: ReadonlySet<string> = new Set();
  #contributions: readonly (readonly [point: string, id: string])[] = [];
  readonly failures = new FailureWindow();
  /** Set while it is being replaced. */
  hold: ReplacementHold | undefined;
  readonly timings: { importMs?: number; setupMs?: number; startMs?: number } = {};
  #unseal: (() => void)[] = [];

  constructor(id: string, source: PluginSource | MissingPlugin, manifest: Manifest | undefined) {
    this.id = id;
    this.source = source;
    this.manifest = manifest;
  }

  /** From now on it is what this package says. */
  take({ source, manifest }: Pick<PluginInstance, "source" | "manifest">): void {
    this.source = source;
    this.manifest = manifest;
  }

  declared(methods: readonly string[], contributions: readonly (readonly [point: string, id: string])[]): void {
    this.#methods = new Set(methods);
    this.#contributions = contributions;
  }

  /** Whether this contribution is its own, by its package or by what it declared. */
  contributes(point: string, id: string): boolean {
    return (
      this.#contributions.some(([at, name]) => at === point && name === id) || contributes(this.manifest, point, id)
    );
  }

  /** Whether this method is its own, by its package or by what it declared. */
  serves(method: string): boolean {
    return this.#methods.has(method) || servesMethod(this.manifest, method);
  }

  /** Remembers what shuts its gates while it is away. */
  sealed(unseal: readonly (() => void)[]): void {
    this.#unseal.push(...unseal);
  }

  get isSealed(): boolean {
    return this.#unseal.length > 0;
  }

  unseal(): void {
    for (const open of this.#unseal.splice(0)) open();
  }

  report(inert: readonly string[]): PluginReport {
    return {
      id: this.id,
      version: this.plugin?.version ?? this.manifest?.version ?? "0.0.0",
      state: this.state,
      ...(this.reason === undefined ? {} : { reason: this.reason }),
      ...(this.retryAt === undefined ? {} : { retryAt: this.retryAt }),
      generation: this.current?.number ?? this.generation,
      ...("load" in this.source && this.source.placement ? { placement: this.source.placement } : {}),
      ...this.timings,
      errors: this.errors,
      inert,
    };
  }
}
