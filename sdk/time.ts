/** Waiting with a signal, and days. */
import type { Clock } from "./plugin.ts";

/**
 * Settles as `promise` does, or rejects with the signal's reason the moment it aborts: whoever ignores the signal
 * cannot keep the run. What the loser does later is ignored.
 */
export async function untilAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  let stop: ((reason: Error) => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = reject;
  });
  const onAbort = () => stop?.(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Resolves after `ms` milliseconds, or at the signal when that is earlier. */
export function pause(ms: number, clock: Pick<Clock, "setTimeout">, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.setTimeout(done, signal.aborted ? 0 : ms);
    signal.addEventListener("abort", done, { once: true });
  });
}

/** Local day of a moment, `YYYY-MM-DD`. @param at epoch ms */
export function localDay(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
