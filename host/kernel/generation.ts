/** One life of a plugin: what it declared, what it has under way, and what has to be undone when it goes. */
import type { Clock, Logger, Stop } from "@svc/sdk";
import { within } from "../clock.ts";
import type { Charge, Hold, Owner, Tally } from "../hooks/owner.ts";
import { currentOwner, runAs } from "./current-owner.ts";
import { type ReplacementHold, waitFor } from "./hold.ts";
import type { Carried, KernelHooks, PluginConfig, Staged } from "./kind.ts";
import { forgetMark, newMark, runMarked } from "./marks.ts";

/** Milliseconds one stop may take before the next is asked. */
const STOP_DEADLINE_MS = 5_000;

/** What all generations of a plugin share. */
export interface PluginIdentity {
  readonly id: string;
  /** Set while the plugin is being replaced. */
  readonly hold: ReplacementHold | undefined;
  readonly tally: Tally;
  /** Remembers a failure that is its own. @param at epoch ms */
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
  /** Called for each failure that counts. */
  onFailure(): void;
}

export class Generation {
  readonly number: number;
  readonly code: Carried;
  /** What it was set up with, or took over since. */
  config: PluginConfig;
  readonly owner: Owner;
  /** What it declared, once that is in effect. */
  staged: Staged | undefined;
  /** Started, and not stopped yet. */
  ready = false;
  /** How many bytes of memory it uses; known of plugins that do not run in the gateway. */
  memory: (() => number | undefined) | undefined;
  /** Set while it is asleep, and until it has started: wakes it, and resolves when it is awake or failed to. */
  wake: (() => Promise<void>) | undefined;
  /** Something of it could not be stopped. */
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

  /** It is in effect, and its code has not run. */
  get isAsleep(): boolean {
    return this.wake !== undefined;
  }

  /** Remembers how to take the commit back. */
  committed(staged: Staged, withdraw: () => void): void {
    this.staged = staged;
    this.#withdraw = withdraw;
  }

  started(stop: Stop): void {
    this.#stops.push(stop);
  }

  /** Resolves when at most so many calls of this generation are under way. */
  idle(calls: number): Promise<void> {
    if (this.#inFlight <= calls) return Promise.resolve();
    return new Promise((reached) => (this.#idle = { calls, reached }));
  }

  /** Its stops newest first (its hooks and events still work), then signal and timers. Declarations stay. Safe to call twice. */
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

  /** Takes its declarations back, in one synchronous step. Safe to call twice. */
  withdraw(): void {
    this.#withdraw?.();
    this.#withdraw = undefined;
  }

  /** Ends it altogether. */
  async dispose(clock: Clock): Promise<void> {
    await this.stop(clock);
    this.withdraw();
  }
}
