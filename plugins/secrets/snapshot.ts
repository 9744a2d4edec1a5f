/** Outcomes of lookups by reference key; a refresh or reload replaces the whole snapshot. */
import { inspect } from "node:util";
import type { Outcome } from "./outcome.ts";

/** Prints nothing of its content: ids disclose which secrets exist. */
export class Snapshot {
  readonly #outcomes: Map<string, Outcome>;
  readonly #inFlight = new Map<string, Promise<Outcome>>();

  constructor(outcomes: ReadonlyMap<string, Outcome> = new Map()) {
    this.#outcomes = new Map(outcomes);
  }

  get(key: string): Outcome | undefined {
    return this.#outcomes.get(key);
  }

  /** Looks up and stores the outcome of a reference; concurrent calls for one key share a lookup. */
  async add(key: string, lookUp: () => Promise<Outcome>): Promise<Outcome> {
    const running = this.#inFlight.get(key);
    if (running) return running;
    const lookup = lookUp();
    this.#inFlight.set(key, lookup);
    try {
      const outcome = await lookup;
      this.#outcomes.set(key, outcome);
      return outcome;
    } finally {
      this.#inFlight.delete(key);
    }
  }

  /**
   * The snapshot after a complete lookup: a reference that failed keeps the value it has here.
   * References that are no longer configured are dropped.
   */
  next(outcomes: ReadonlyMap<string, Outcome>): Snapshot {
    const merged = [...outcomes].map(([key, outcome]) => {
      const before = this.#outcomes.get(key);
      if (outcome.state === "found" || before?.state !== "found") return [key, outcome] as const;
      return [key, { ...before, stale: outcome.reason }] as const;
    });
    return new Snapshot(new Map(merged));
  }

  [inspect.custom](): string {
    return "Snapshot {}";
  }
}
