import { type Clock, GatewayError } from "@svc/sdk";

/**
 * Runs `work` with a signal that aborts with `signal`, or after `seconds`.
 * @throws GatewayError `UNAVAILABLE` naming the key when the time is over; what `work` throws
 */
export async function withDeadline<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { seconds, clock, signal }: { seconds: number; clock: Pick<Clock, "setTimeout">; signal: AbortSignal },
): Promise<T> {
  const late = new AbortController();
  const reason = new GatewayError(
    "UNAVAILABLE",
    `it took longer than ${seconds} seconds; ask for less, or raise tools.media.timeoutSeconds`,
  );
  const cancel = clock.setTimeout(() => late.abort(reason), seconds * 1000);
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } catch (error) {
    signal.throwIfAborted();
    late.signal.throwIfAborted(); // whatever the end of its work was made into on the way
    throw error;
  } finally {
    cancel();
  }
}
