/** One plugin of this gateway: its state, statistics and last failure, over all its generations. */
import { messageOf } from "@svc/sdk/errors";
import type { PluginReport, PluginStats, ReloadReport } from "@svc/sdk/plugins";
import { describeDeprecated } from "./deprecations.ts";
import { FailureWindow } from "./failure.ts";
import type { Generation } from "./generation.ts";
import type { ReplacementHold } from "./hold.ts";
import type { AnyKind, Carried, Declared, PluginFacts } from "./kind.ts";
import { isListed } from "./listing.ts";
import type { MissingPlugin, PluginSource } from "./load.ts";
import type { Manifest, Placement } from "./manifest.ts";
import type { PluginState } from "./state.ts";
import { PluginTally } from "./stats.ts";

/** Maximum number of characters kept of a failure's `where` and of its message. */
const MOST_TEXT = 500;

export class PluginInstance {
  readonly id: string;
  /** Where its code is loaded from, or why it cannot be loaded. */
  source: PluginSource | MissingPlugin;
  manifest: Manifest | undefined;
  /** Its code, once resolved. */
  code: Carried | undefined;
  state: PluginState = "described";
  reason: string | undefined;
  /** Time of the automatic retry; activations skip a pending plugin until then. epoch ms */
  retryAt: number | undefined;
  cancelRetry: (() => void) | undefined;
  /** Position in the order of plugins, kept over all generations. */
  position: number | undefined;
  current: Generation | undefined;
  /** Number of the newest generation. */
  generation = 0;
  errors = 0;
  /** The last failure attributed to it. */
  blame: PluginReport["blame"];
  readonly tally = new PluginTally();
  /** Declarations of its last committed generation; kept while it does not run. */
  declared: Declared | undefined;
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

  get plugin(): PluginFacts | undefined {
    return this.code?.plugin;
  }

  get placement(): Placement {
    return ("load" in this.source ? this.source.elsewhere?.placement : undefined) ?? "host";
  }

  /** Replaces its source and manifest; its code stays. */
  takePackage({ source, manifest }: Pick<PluginInstance, "source" | "manifest">): void {
    this.source = source;
    this.manifest = manifest;
  }

  /** Records a failure. @param where what failed, for people. @param at epoch ms */
  charged(error: unknown, where: string, at: number): void {
    this.errors++;
    const message = messageOf(error);
    this.blame = { at, where: where.slice(0, MOST_TEXT), message: message.slice(0, MOST_TEXT) };
  }

  /** Its statistics so far. */
  stats(): PluginStats {
    return this.tally.stats(this.errors, this.current?.memory?.());
  }

  /** Whether it declared this name in its last committed generation, or its package lists it. */
  declares(kind: AnyKind, name: string): boolean {
    return (
      (this.declared?.shapes(kind).some((shape) => shape.name === name) ?? false) || isListed(kind, this.manifest, name)
    );
  }

  /** Records the seals of its gates. @param unseal removes one seal each */
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
    const uses = this.current?.staged?.declared.deprecated;
    return {
      id: this.id,
      version: this.plugin?.version ?? this.manifest?.version ?? "0.0.0",
      state: this.state,
      ...(this.reason === undefined ? {} : { reason: this.reason }),
      ...(this.retryAt === undefined ? {} : { retryAt: this.retryAt }),
      generation: this.current?.number ?? this.generation,
      ...(this.current?.isAsleep ? { asleep: true } : {}),
      ...(this.placement === "host" ? {} : { placement: this.placement }),
      ...(this.blame === undefined ? {} : { blame: this.blame }),
      ...this.timings,
      errors: this.errors,
      inert,
      ...(uses && uses.size > 0 ? { deprecated: describeDeprecated(uses) } : {}),
    };
  }

  /** Report of a change. `ok` when the plugin runs, or when it was stopped or disabled on purpose, unless `facts` has a reason. */
  outcome(facts: Partial<ReloadReport> = {}): ReloadReport {
    const { id, state, generation, current } = this;
    const reason = facts.reason ?? (state === "active" ? undefined : this.reason);
    return {
      id,
      ok: facts.reason === undefined && (state === "active" || state === "disabled" || state === "stopped"),
      state,
      generation: current?.number ?? generation,
      rolledBack: false,
      restarted: [],
      heldMs: 0,
      ...facts,
      ...(reason === undefined ? {} : { reason }),
    };
  }
}
