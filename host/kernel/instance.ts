/** One plugin of this gateway: its state, its identity for blame, and what has to be undone when it goes. */
import type { Clock, Logger, Plugin, Stop } from "@svc/sdk";
import type { PluginReport } from "@svc/sdk/services";
import type { Owner } from "../hooks/owner.ts";
import { runAs } from "./blame.ts";
import type { Declarations } from "./declarations.ts";
import type { PluginSource } from "./load.ts";
import type { Manifest } from "./manifest.ts";

/**
 * `blocked` needs a person, `pending` waits for another plugin or for time, `failed` broke; none of these is visible
 * to a request. `starting` is committed and answers UNAVAILABLE.
 */
export type PluginState =
  | "described"
  | "disabled"
  | "blocked"
  | "pending"
  | "staged"
  | "starting"
  | "active"
  | "draining"
  | "stopped"
  | "failed";

/** Milliseconds one stop may take before the next is asked. */
const STOP_DEADLINE_MS = 5_000;

export class PluginInstance {
  readonly id: string;
  readonly source: PluginSource | undefined;
  readonly manifest: Manifest | undefined;
  plugin: Plugin | undefined;
  state: PluginState = "described";
  reason: string | undefined;
  /** It asked for time and has it: not tried again before its own retry falls due. */
  resting = false;
  generation = 0;
  errors = 0;
  declarations: Declarations | undefined;
  readonly timings: { importMs?: number; setupMs?: number; startMs?: number } = {};
  #withdraw: (() => void) | undefined;
  #stops: Stop[] = [];
  #controller = new AbortController();

  constructor(id: string, source: PluginSource | undefined, manifest: Manifest | undefined) {
    this.id = id;
    this.source = source;
    this.manifest = manifest;
  }

  /** A fresh identity: what an older generation left behind is no longer trusted. */
  renew(order: number, log: Logger): Owner {
    this.#controller = new AbortController();
    this.generation++;
    const { signal } = this.#controller;
    const isReady = () => this.state === "active";
    const owner: Owner = {
      id: this.id,
      get ready() {
        return isReady();
      },
      order,
      signal,
      run: (work) => runAs(owner, work),
      charge: (error, where) => {
        this.errors++;
        log.error({ plugin: this.id, where, err: error }, `plugin ${this.id} failed in ${where}`);
      },
    };
    return owner;
  }

  /** Remembers how to take the commit back. */
  committed(withdraw: () => void): void {
    this.#withdraw = withdraw;
  }

  started(stop: Stop): void {
    this.#stops.push(stop);
  }

  /** Ends this generation: its stops newest first (its hooks and events still work), then signal and timers, then its declarations. */
  async dispose(clock: Clock): Promise<void> {
    const owner = this.declarations?.owner;
    for (const stop of this.#stops.splice(0).reverse()) {
      try {
        await within(STOP_DEADLINE_MS, clock, owner ? owner.run(stop) : stop());
      } catch (error) {
        owner?.charge(error, "stop");
      }
    }
    this.#controller.abort();
    this.#withdraw?.();
    this.#withdraw = undefined;
  }

  report(inert: readonly string[]): PluginReport {
    return {
      id: this.id,
      version: this.plugin?.version ?? this.manifest?.version ?? "0.0.0",
      state: this.state,
      ...(this.reason === undefined ? {} : { reason: this.reason }),
      generation: this.generation,
      ...this.timings,
      errors: this.errors,
      inert,
    };
  }
}

/** Waits for `work` at most `ms` milliseconds. @throws Error when the time is up, or what `work` rejects with */
export async function within<T>(ms: number, clock: Clock, work: T | PromiseLike<T>): Promise<T> {
  let cancel = () => {};
  const late = new Promise<never>((_, reject) => {
    cancel = clock.setTimeout(() => reject(new Error(`not done within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
  }
}
