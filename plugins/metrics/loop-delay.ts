/** How late the event loop is: the runtime's own histogram, which costs a timer and so runs only when somebody looks. */
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Milliseconds between two measurements. */
const RESOLUTION_MS = 20;
const NS_PER_MS = 1e6;

export interface LoopDelayMonitor {
  /** Since the last look; `undefined` at the first, which starts it. */
  look(): LoopDelay | undefined;
  /** Safe to call twice. */
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
