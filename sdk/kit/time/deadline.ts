/** Work that has to end in time. */
import { type Clock, GatewayError } from "@svc/sdk";
import { AnySignal } from "./any-signal.ts";

/** When work ends at the latest. */
export interface Deadline {
  readonly ms: number;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Each of them ends the work earlier. */
  readonly signals: readonly AbortSignal[];
  /** Message of the refusal at the deadline, e.g. `the server did not answer within 5 s`. */
  readonly late: () => string;
}

/**
 * Runs `work`, which must end with the signal it gets. Wrap what ignores signals in `untilAborted`.
 * @throws GatewayError `UNAVAILABLE` at the deadline; the reason of the signal that aborted; else what `work` throws
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
    ending.signal.throwIfAborted(); // the work may have failed of that only
    throw error;
  } finally {
    cancel();
    ending.release();
  }
}
