/** The secrets that were found, by reference; replaced as a whole. */
import { inspect } from "node:util";
import type { Outcome } from "./outcome.ts";

/** Prints nothing of what it holds: ids say which secrets there are. */
export class Snapshot {
  readonly #outcomes: Map<string, Outcome>;
  readonly #inFlight = new Map<string, Promise<Outcome>>();

  constructor(outcomes: ReadonlyMap<string, Outcome> = new Map()) {
    this.#outcomes = new Map(outcomes);
  }

  get(key: string): Outcome | undefined {
    return this.#outcomes.get(key);
  }

  /** Looks up what is not there and keeps it; questions for the same at the same time share one lookup. */
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
   * A new one from a whole lookup, in which what could not be found anew keeps the text it had here.
   * What nobody refers to any more is left out.
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
