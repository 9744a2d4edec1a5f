/** The system clock, and waiting with a time limit. */
import type { Clock } from "@svc/sdk";

/** Longest delay of a runtime timer; a longer one would fire immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  setTimeout(callback, ms) {
    const timer = setTimeout(callback, Math.min(ms, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
  setInterval(callback, ms) {
    const timer = setInterval(callback, ms);
    return () => clearInterval(timer);
  },
};

/** Waits for `work` at most `ms` milliseconds. @throws Error on timeout, or the rejection of `work` */
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

/** Waits until `work` is done, at most `ms` milliseconds. @throws the rejection of `work`, if it comes within that time */
export async function settled(ms: number, clock: Clock, work: Promise<unknown>): Promise<void> {
  let cancel = () => {};
  const late = new Promise<void>((resolve) => (cancel = clock.setTimeout(resolve, ms)));
  try {
    await Promise.race([work, late]);
  } finally {
    cancel();
  }
}
