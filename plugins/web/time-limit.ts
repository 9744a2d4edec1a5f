/** Work that has to end in time, or with its run. */
import { type Clock, GatewayError, untilAborted } from "@svc/sdk";

export interface TimeLimit {
  readonly ms: number;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Of the run. */
  readonly signal: AbortSignal;
  /** What is said when the time is up. */
  readonly late: string;
}

/** @throws GatewayError `UNAVAILABLE` when it takes longer; the signal's reason; what `work` throws */
export async function withinTime<T>(limit: TimeLimit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { ms, clock, signal, late } = limit;
  signal.throwIfAborted();
  const controller = new AbortController();
  const end = () => controller.abort(signal.reason);
  signal.addEventListener("abort", end, { once: true });
  const cancel = clock.setTimeout(() => controller.abort(new GatewayError("UNAVAILABLE", late)), ms);
  try {
    return await untilAborted(work(controller.signal), controller.signal);
  } finally {
    cancel();
    signal.removeEventListener("abort", end);
  }
}
