/** Limits per minute, of visitors and addresses. */
import { bounded } from "@svc/kit/channels";
import type { Clock } from "@svc/sdk";

/** Remembered keys; beyond that, the least recently seen one starts afresh. */
const MAX_KEYS = 20_000;

export interface Rate {
  /** Counts one use. @returns milliseconds until the next one is possible; 0: this one was */
  take(key: string, perMinute: number): number;
}

/** A minute's worth may be used at once; afterwards uses come back evenly. */
export function createRate(clock: Pick<Clock, "elapsed">): Rate {
  const used = bounded<{ readonly count: number; readonly at: number }>(MAX_KEYS);
  return {
    take(key, perMinute) {
      const [at, before] = [clock.elapsed(), used.get(key)];
      const everyMs = 60_000 / perMinute;
      const count = before ? Math.max(0, before.count - (at - before.at) / everyMs) : 0;
      if (count + 1 > perMinute) return Math.ceil((count + 1 - perMinute) * everyMs);
      used.set(key, { count: count + 1, at });
      return 0;
    },
  };
}
