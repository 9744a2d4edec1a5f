/** Delay of the event loop, from the runtime's own histogram. It needs a timer, so it runs only after the first scrape. */
import { monitorEventLoopDelay } from "node:perf_hooks";

/** In milliseconds. */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Interval of the measurements. ms */
const RESOLUTION_MS = 20;
const NS_PER_MS = 1e6;

export interface LoopDelayMonitor {
  /** Delays since the last call; `undefined` at the first call, which starts the measurement. */
  look(): LoopDelay | undefined;
  /** Stops the measurement. Safe to call twice. */
  stop(): void;
}

export function createLoopDelayMonitor(): LoopDelayMonitor {
  let histogram: ReturnType<typeof monitorEventLoopDelay> | undefined;
  return {
    look() {
      if (!histogram) {
        histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
        histogram.enable();
        return undefined;
      }
      if (histogram.count === 0) return undefined;
      const [p50, p99, max] = [histogram.percentile(50), histogram.percentile(99), histogram.max].map(late);
      histogram.reset();
      return { p50, p99, max } as LoopDelay;
    },
    stop() {
      histogram?.disable();
      histogram = undefined;
    },
  };
}

function late(ns: number): number {
  return Math.max(0, ns / NS_PER_MS - RESOLUTION_MS);
}
