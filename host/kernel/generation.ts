/** One life of a plugin: what it declared, what it has under way, and what has to be undone when it goes. */
import type { Clock, Logger, Plugin, Stop } from "@svc/sdk";
import { within } from "../clock.ts";
import type { Charge, Owner, Tally } from "../hooks/owner.ts";
import { runAs } from "./blame.ts";
import type { Declarations } from "./declarations.ts";
import type { ReplacementHold } from "./hold.ts";
import { forgetMark, newMark, runMarked } from "./watch/marks.ts";

/** Milliseconds one stop may take before the next is asked. */
const STOP_DEADLINE_MS = 5_000;

/** What all generations of a plugin share. */
export interface Lineage {
  readonly id: string;
  /** Set while the plugin is being replaced. */
  readonly hold: ReplacementHold | undefined;
  readonly tally: Tally;
  /** Remembers a failure that is its own. @param at epoch ms */
  charged(error: unknown, where: string, at: number): void;
}

export interface GenerationOptions {
  readonly instance: Lineage;
  readonly number: number;
  readonly order: number;
  readonly plugin: Plugin;
  /** Validated configuration it was set up with. */
  readonly config: PluginConfig;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told of each failure that counts. */
  onFailure(): void;
}

/** A plugin's own section and its further ones. */
export interface PluginConfig {
  readonly value: unknown;
  readonly sections: Readonly<Record<string, unknown>>;
}

export class Generation {
  readonly number: number;
  readonly plugin: Plugin;
  /** What it was set up with, or took over since. */
  config: PluginConfig;
  readonly owner: Owner;
  declarations: Declarations | undefined;
  /** Started, and not stopped yet. */
  ready = false;
  /** How many bytes of memory it uses; known of plugins that do not run in the gateway. */
  memory: (() => number | undefined) | undefined;
  /** Something of it could not be stopped. */
  leaky = false;
  readonly #controller = new AbortController();
  #withdraw: (() => void) | undefined;
  #stops: Stop[] = [];
  #underWay = 0;
  #idle: { readonly calls: number; readonly reached: () => void } | undefined;
  readonly #mark: number;

  constructor({ instance, number, order, plugin, config, clock, log, onFailure }: GenerationOptions) {
    this.number = number;
    this.plugin = plugin;
    this.config = config;
    const { signal } = this.#controller;
    const isReady = () => this.ready;
    const { tally } = instance;
    const owner: Owner = {
      id: instance.id,
      order,
      signal,
      get ready() {
        return isReady();
      },
      get hold() {
        return instance.hold;
      },
      get away() {
        return isReady() ? undefined : instance.hold?.released;
      },
      tally,
      enter: () => {
        this.#underWay++;
        tally.entered();
      },
      leave: () => {
        tally.left();
        if (--this.#underWay === this.#idle?.calls) this.#idle.reached();
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

  /** Remembers how to take the commit back. */
  committed(declarations: Declarations, withdraw: () => void): void {
    this.declarations = declarations;
    this.#withdraw = withdraw;
  }

  started(stop: Stop): void {
    this.#stops.push(stop);
  }

  /** Resolves when at most so many calls of this generation are under way. */
  idle(calls: number): Promise<void> {
    if (this.#underWay <= calls) return Promise.resolve();
    return new Promise((reached) => (this.#idle = { calls, reached }));
  }

  /** Its stops newest first (its hooks and events still work), then signal and timers. Declarations stay. Safe to call twice. */
  async stop(clock: Clock): Promise<void> {
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
