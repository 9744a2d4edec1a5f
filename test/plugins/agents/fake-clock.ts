/** A clock that stands still until a test moves it. */
import type { Clock } from "@svc/sdk";

interface Timer {
  at: number;
  readonly every?: number;
  readonly callback: () => void;
}

/** Times an interval ticks at most in one advance; a clock that jumps by a week ticks no more often. */
const LATE_TICKS = 100;

export interface FakeClock extends Clock {
  /** Moves on by `ms`, running what falls due, in order. */
  advance(ms: number): void;
  /** Somebody sets the wall clock; no time goes by. */
  jump(ms: number): void;
  /** Timeouts that are set. */
  pending(): number;
  /** Intervals that are set. */
  repeating(): number;
}

export function createFakeClock(start = Date.UTC(2026, 0, 28, 20, 30)): FakeClock {
  let now = start;
  let setBy = 0;
  const timers = new Set<Timer>();
  const set = (timer: Timer) => {
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  const nextUntil = (end: number) =>
    [...timers].filter(({ at }) => at <= end).toSorted((one, other) => one.at - other.at)[0];
  return {
    now: () => now + setBy,
    elapsed: () => now - start,
    setTimeout: (callback, ms) => set({ at: now + ms, callback }),
    setInterval: (callback, ms) => set({ at: now + ms, every: ms, callback }),
    pending: () => [...timers].filter(({ every }) => every === undefined).length,
    repeating: () => [...timers].filter(({ every }) => every !== undefined).length,
    jump: (ms) => void (setBy += ms),
    advance(ms) {
      const end = now + ms;
      for (let timer = nextUntil(end); timer; timer = nextUntil(end)) {
        now = timer.at;
        if (timer.every === undefined) timers.delete(timer);
        else timer.at = Math.max(timer.at + timer.every, end - LATE_TICKS * timer.every);
        timer.callback();
      }
      now = end;
    },
  };
}
