/** Work with a deadline. */
import { type Clock, GatewayError } from "@svc/sdk";
import { AnySignal } from "./any-signal.ts";

/** Deadline of the work. */
export interface Deadline {
  readonly ms: number;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Each of these signals ends the work earlier. */
  readonly signals: readonly AbortSignal[];
  /** Error message at the deadline, e.g. `the server did not answer within 5 s`. */
  readonly late: () => string;
}

/**
 * Runs `work`, which must end when its signal aborts. Wrap code that ignores signals in `untilAborted`.
 * @throws GatewayError `UNAVAILABLE` at the deadline; the reason of the aborted signal; errors of `work`
 */
export async function withDeadline<T>(
  { ms, clock, signals, late }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  for (const signal of signals) signal.throwIfAborted();
  const ending = new AnySignal(...signals);
  const cancel = clock.setTimeout(() => ending.abort(new GatewayError("UNAVAILABLE", late())), ms);
  try {
    return await work(ending.signal);
  } catch (error) {
    ending.signal.throwIfAborted(); // the abort may have caused the error
    throw error;
  } finally {
    cancel();
    ending.release();
  }
}
