/** A clock that stands still until a test moves it. */
import type { Clock } from "@svc/sdk";

interface Timer {
  at: number;
  readonly every?: number;
  readonly callback: () => void;
}

export interface FakeClock extends Clock {
  /** Moves on by `ms`, running what falls due, in order. */
  advance(ms: number): void;
  /** Timers that are set. */
  pending(): number;
}

export function createFakeClock(start = Date.UTC(2026, 0, 28, 20, 30)): FakeClock {
  let now = start;
  const timers = new Set<Timer>();
  const set = (timer: Timer) => {
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  const nextUntil = (end: number) =>
    [...timers].filter(({ at }) => at <= end).toSorted((one, other) => one.at - other.at)[0];
  return {
    now: () => now,
    elapsed: () => now - start,
    setTimeout: (callback, ms) => set({ at: now + ms, callback }),
    setInterval: (callback, ms) => set({ at: now + ms, every: ms, callback }),
    pending: () => timers.size,
    advance(ms) {
      const end = now + ms;
      for (let timer = nextUntil(end); timer; timer = nextUntil(end)) {
        now = timer.at;
        if (timer.every === undefined) timers.delete(timer);
        else timer.at += timer.every;
        timer.callback();
      }
      now = end;
    },
  };
}
