/** Waiting with an abort signal, and calendar days. */
import type { Clock } from "./plugin.ts";

/**
 * Settles like `promise`, or rejects with the signal's reason as soon as it aborts, so code that ignores the signal
 * cannot block the caller. The later outcome of the loser is ignored.
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

/** Resolves after `ms` milliseconds, or earlier when the signal aborts. */
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

/** The local date of a time, `YYYY-MM-DD`. @param at epoch ms */
export function localDay(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
