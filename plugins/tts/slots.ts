/** Limits concurrent jobs. */
import { unavailable } from "@svc/sdk";

export interface Slots {
  /** Runs `work` when a slot is free. @throws GatewayError `UNAVAILABLE` if too many wait; the signal's reason */
  take<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

const RETRY_MS = 5_000;

/** Slots are assigned in the order of the requests. */
export function createSlots(count: number, maxWaiting: number): Slots {
  let free = count;
  const waiting = new Set<() => void>();

  function enter(signal: AbortSignal): Promise<void> {
    if (free > 0) {
      free -= 1;
      return Promise.resolve();
    }
    if (waiting.size >= maxWaiting)
      unavailable("too many texts wait to be spoken; try again in a few seconds", { retryAfterMs: RETRY_MS });
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal.removeEventListener("abort", leave);
        waiting.delete(begin);
        resolve();
      };
      const leave = () => {
        waiting.delete(begin);
        reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
      };
      waiting.add(begin);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  function leave(): void {
    const [next] = waiting;
    if (next) next();
    else free += 1;
  }

  return {
    async take(signal, work) {
      signal.throwIfAborted();
      await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
