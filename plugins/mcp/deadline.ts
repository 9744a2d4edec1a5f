import { type Clock, GatewayError } from "@svc/sdk";

export interface Limits {
  /** Milliseconds. */
  readonly ms: number;
  /** Said when it is late: `the server did not answer`. */
  readonly failure: string;
  readonly clock: Pick<Clock, "setTimeout">;
  readonly signal: AbortSignal;
}

/**
 * Does `work`, which must end with the signal it is handed: at the deadline, or with `signal`.
 * @throws GatewayError `UNAVAILABLE` when it is late; the reason of `signal`; else what `work` throws
 */
export async function within<T>(
  { ms, failure, clock, signal }: Limits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const late = new GatewayError("UNAVAILABLE", `${failure} within ${ms / 1_000} seconds`);
  const cancel = clock.setTimeout(() => ending.abort(late), ms);
  const onAbort = () => ending.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    ending.signal.throwIfAborted();
    return await work(ending.signal);
  } catch (error) {
    ending.signal.throwIfAborted(); // what the work made of it is no news
    throw error;
  } finally {
    cancel();
    signal.removeEventListener("abort", onAbort);
  }
}
