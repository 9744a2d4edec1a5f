/** A clock that only advances when a test says so. */
import type { Clock } from "../plugin.ts";

interface Timer {
  dueAt: number;
  readonly everyMs: number | undefined;
  readonly callback: () => void;
}

/** A clock controlled by a test. */
export interface FakeClock extends Clock {
  /** Advances time and runs due timers in order; pending promises are processed after each. */
  advance(ms: number): Promise<void>;
  /** Number of pending timers. */
  readonly pending: number;
  /** Milliseconds until each pending timer is due, in the order the timers were set. */
  readonly dueIn: readonly number[];
}

/** @param start epoch ms; default 2026-01-01T00:00:00Z */
export function createFakeClock(start: number = Date.UTC(2026, 0, 1)): FakeClock {
  let now = start;
  const timers = new Set<Timer>();
  const add = (ms: number, callback: () => void, everyMs?: number) => {
    const timer: Timer = { dueAt: now + ms, everyMs, callback };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    now: () => now,
    elapsed: () => now - start,
    setTimeout: (callback, ms) => add(ms, callback),
    setInterval: (callback, ms) => add(ms, callback, Math.max(1, ms)),
    get pending() {
      return timers.size;
    },
    get dueIn() {
      return [...timers].map(({ dueAt }) => dueAt - now);
    },
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (;;) {
        const [next] = [...timers]
          .filter(({ dueAt }) => dueAt <= until)
          .sort((left, right) => left.dueAt - right.dueAt);
        if (!next) break;
        now = Math.max(now, next.dueAt);
        if (next.everyMs === undefined) timers.delete(next);
        else next.dueAt += next.everyMs;
        next.callback();
        await settle();
      }
      now = until;
      await settle();
    },
  };
}
