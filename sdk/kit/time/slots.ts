/** Limits concurrent work. */
export interface Slots {
  /**
   * Waits for a slot. @returns a function that releases it; safe to call twice
   * @throws the refusal if too many are waiting; the signal's reason
   */
  take(signal: AbortSignal): Promise<() => void>;
  /** Waits for a slot, and releases it when `work` has ended. @throws as `take`; errors of `work` */
  use<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/**
 * Creates slots, which are assigned in the order of the requests.
 * @param count asked at each request
 * @param refuse throws the refusal of a request if `maxWaiting` others wait
 */
export function createSlots(count: () => number, maxWaiting: number, refuse: () => never): Slots {
  let used = 0;
  const waiting = new Set<() => void>();

  function release(): void {
    const [next] = waiting;
    if (next) next();
    else used -= 1;
  }

  function slot(): () => void {
    let isMine = true;
    return () => {
      if (isMine) release();
      isMine = false;
    };
  }

  const slots: Slots = {
    async take(signal) {
      signal.throwIfAborted();
      if (used < count()) {
        used += 1;
        return slot();
      }
      if (waiting.size >= maxWaiting) refuse();
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          waiting.delete(enter);
          signal.removeEventListener("abort", giveUp);
        };
        const enter = () => {
          leave();
          resolve();
        };
        const giveUp = () => {
          leave();
          reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
        };
        waiting.add(enter);
        signal.addEventListener("abort", giveUp, { once: true });
      });
      return slot();
    },
    async use(signal, work) {
      const done = await slots.take(signal);
      try {
        return await work();
      } finally {
        done();
      }
    },
  };
  return slots;
}
