/**
 * One generation of a plugin, which lasts from one setup to the stop: its declarations, its calls in flight, and what
 * the stop has to undo.
 */
import type { Clock, Logger, Stop } from "@svc/sdk";
import { within } from "../clock.ts";
import type { Charge, Hold, Owner, Tally } from "../hooks/owner.ts";
import { currentOwner, runAs } from "./current-owner.ts";
import { type ReplacementHold, waitFor } from "./hold.ts";
import type { Carried, KernelHooks, PluginConfig, Staged } from "./kind.ts";
import { forgetMark, newMark, runMarked } from "./marks.ts";

/** Time one stop function may take before the next one is called. ms */
const STOP_DEADLINE_MS = 5_000;

/** State shared by all generations of a plugin. */
export interface PluginIdentity {
  readonly id: string;
  /** Set while the plugin is being replaced. */
  readonly hold: ReplacementHold | undefined;
  readonly tally: Tally;
  /** Records a failure attributed to the plugin. @param at epoch ms */
  charged(error: unknown, where: string, at: number): void;
}

export interface GenerationOptions {
  readonly instance: PluginIdentity;
  readonly number: number;
  readonly order: number;
  readonly code: Carried;
  /** Validated configuration it was set up with. */
  readonly config: PluginConfig;
  readonly clock: Clock;
  readonly log: Logger;
  readonly hooks: Pick<KernelHooks, "draining" | "stopped">;
  /** Called for each failure that counts towards quarantine. */
  onFailure(): void;
}

export class Generation {
  readonly number: number;
  readonly code: Carried;
  /** The configuration it was set up with, or that its `configChanged` has accepted since. */
  config: PluginConfig;
  readonly owner: Owner;
  /** Its declarations; set once they are committed. */
  staged: Staged | undefined;
  /** Whether it has started and has not stopped yet. */
  ready = false;
  /** Reads its memory use in bytes; set only for plugins in their own thread or process. */
  memory: (() => number | undefined) | undefined;
  /** Set while it is asleep, and until it has started: wakes it; resolves when it runs or has failed. */
  wake: (() => Promise<void>) | undefined;
  /** One of its stop functions failed or timed out. */
  leaky = false;
  readonly #controller = new AbortController();
  #withdraw: (() => void) | undefined;
  #stops: Stop[] = [];
  #inFlight = 0;
  #idle: { readonly calls: number; readonly reached: () => void } | undefined;
  readonly #mark: number;
  readonly #hooks: GenerationOptions["hooks"];

  constructor({ instance, number, order, code, config, clock, log, hooks, onFailure }: GenerationOptions) {
    this.number = number;
    this.code = code;
    this.#hooks = hooks;
    this.config = config;
    const { signal } = this.#controller;
    const isReady = () => this.ready;
    const { tally } = instance;
    const held: Hold = {
      passes: () => currentOwner()?.hold === held,
      wait: () => waitFor(this.wake?.() ?? Promise.resolve(), clock, `plugin ${instance.id} is being loaded`),
    };
    const sleep = () => (this.wake ? held : undefined);
    const wake = () => this.wake?.();
    const owner: Owner = {
      id: instance.id,
      order,
      signal,
      get ready() {
        return isReady();
      },
      get hold() {
        return instance.hold ?? sleep();
      },
      back: () => (isReady() ? undefined : (instance.hold?.released ?? wake())),
      tally,
      enter: () => {
        this.#inFlight++;
        tally.entered();
      },
      leave: () => {
        tally.left();
        if (--this.#inFlight === this.#idle?.calls) this.#idle.reached();
      },
      run: (work) => runMarked(mark, () => runAs(owner, work)),
      charge: (error: unknown, where: string, charge: Charge = "counts") => {
        instance.charged(error, where, clock.now());
        log.error({ plugin: instance.id, where, err: error }, `plugin ${instance.id} failed in ${where}`);
        if (charge === "counts" && !signal.aborted) onFailure();
      },
    };
    this.owner = owner;
    const mark = (this.#mark = newMark(owner));
  }

  /** Whether it is asleep, or waking and not started yet. */
  get isAsleep(): boolean {
    return this.wake !== undefined;
  }

  /** Records a commit. @param withdraw undoes the commit */
  committed(staged: Staged, withdraw: () => void): void {
    this.staged = staged;
    this.#withdraw = withdraw;
  }

  started(stop: Stop): void {
    this.#stops.push(stop);
  }

  /** Resolves when this generation has at most this many calls in flight. */
  idle(calls: number): Promise<void> {
    if (this.#inFlight <= calls) return Promise.resolve();
    return new Promise((reached) => (this.#idle = { calls, reached }));
  }

  /**
   * Runs its stop functions, newest first, while its hooks and events still work; then aborts its signal, which cancels timers.
   * Declarations stay. Safe to call twice.
   */
  async stop(clock: Clock): Promise<void> {
    const { staged } = this;
    const runs = staged && !this.owner.signal.aborted;
    if (runs) this.#hooks.draining.call(staged);
    for (const stop of this.#stops.splice(0).reverse()) {
      try {
        await within(STOP_DEADLINE_MS, clock, this.owner.run(stop));
      } catch (error) {
        this.leaky = true;
        this.owner.charge(error, "stop", "caller");
      }
    }
    this.ready = false;
    this.#controller.abort();
    forgetMark(this.#mark);
    if (runs) this.#hooks.stopped.call(staged);
  }

  /** Withdraws its declarations, in one synchronous step. Safe to call twice. */
  withdraw(): void {
    this.#withdraw?.();
    this.#withdraw = undefined;
  }

  /** Stops it and withdraws its declarations. */
  async dispose(clock: Clock): Promise<void> {
    await this.stop(clock);
    this.withdraw();
  }
}
