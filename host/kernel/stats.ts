/** Counters of a plugin, over all its generations. */
import type { PluginMeasures, PluginStats } from "@svc/sdk/plugins";
import type { MethodTally, Outcome, Tally } from "../hooks/owner.ts";
import { Latency } from "./latency.ts";

/** Maximum number of methods counted by name; further methods are counted together as `other`. */
const MOST_METHODS = 500;
const FURTHER = "other";

/** Exponents of the histogram limits exported to monitoring: 2^-3 = 0.125 ms to 2^14 = 16 s. */
const TOLD = [-3, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] as const;

export class PluginTally implements Tally {
  #inFlight = 0;
  #hookRuns = 0;
  #hookErrors = 0;
  #blocks = 0;
  #longestBlockMs = 0;
  readonly #latency = new Latency();
  readonly #methods = new Map<string, CountedMethod>();

  entered(): void {
    this.#inFlight++;
  }
  left(): void {
    this.#inFlight--;
  }
  answered(ms: number): void {
    this.#latency.record(ms);
  }
  hookRan(): void {
    this.#hookRuns++;
  }
  hookFailed(): void {
    this.#hookErrors++;
  }
  /** Records that the plugin blocked the event loop. @param ms milliseconds */
  blocked(ms: number): void {
    this.#blocks++;
    this.#longestBlockMs = Math.max(this.#longestBlockMs, ms);
  }

  method(name: string): MethodTally {
    const key = this.#methods.has(name) || this.#methods.size < MOST_METHODS ? name : FURTHER;
    const known = this.#methods.get(key) ?? new CountedMethod(this.#latency);
    this.#methods.set(key, known);
    return known;
  }

  /** @param errors attributed to the plugin. @param memoryBytes of its own thread or process, if it has one */
  stats(errors: number, memoryBytes: number | undefined): PluginStats {
    const { count: calls, max } = this.#latency;
    return {
      calls,
      inFlight: this.#inFlight,
      errors,
      p50Ms: rounded(this.#latency.quantile(0.5)),
      p99Ms: rounded(this.#latency.quantile(0.99)),
      maxMs: calls === 0 ? null : rounded(max),
      hookRuns: this.#hookRuns,
      hookErrors: this.#hookErrors,
      memoryBytes: memoryBytes ?? null,
      blocks: this.#blocks,
      longestBlockMs: this.#longestBlockMs,
    };
  }

  /** Measurements reported in addition to `stats`. */
  details(): Pick<PluginMeasures, "callsMs" | "answers" | "methods"> {
    const latency = this.#latency;
    return {
      callsMs: latency.sum,
      answers: TOLD.map((exponent) => ({ belowMs: 2 ** exponent, calls: latency.countBelow(exponent) })),
      methods: [...this.#methods].map(([name, { ok, refused, failed }]) => ({ name, ok, refused, failed })),
    };
  }
}

class CountedMethod implements MethodTally {
  ok = 0;
  refused = 0;
  failed = 0;
  readonly #latency: Latency;

  constructor(latency: Latency) {
    this.#latency = latency;
  }

  answered(ms: number, outcome: Outcome): void {
    this[outcome]++;
    this.#latency.record(ms);
  }
}

/** Rounds to whole microseconds. */
function rounded<T extends number | null>(ms: T): T | number {
  return ms === null ? ms : Math.round(ms * 1_000) / 1_000;
}
