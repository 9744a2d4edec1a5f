/** One end for all that a fetch does: its time is up, its caller left, or the plugin stops. */
import { type Clock, GatewayError } from "@svc/sdk";

/** Until `stop`, which is safe to call twice. */
export interface Deadline {
  /** Aborts with the reason of whoever was first: always an `Error`. */
  readonly signal: AbortSignal;
  stop(): void;
}

/** @param what named in the refusal, e.g. `example.com did not answer` */
export function startDeadline(
  ms: number,
  what: () => string,
  clock: Pick<Clock, "setTimeout">,
  signals: readonly AbortSignal[],
): Deadline {
  const controller = new AbortController();
  const late = () => controller.abort(new GatewayError("UNAVAILABLE", `${what()} within ${ms} ms`));
  const cancel = clock.setTimeout(late, ms);
  const ends = signals.map((signal) => {
    const end = () => controller.abort(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
    return () => signal.removeEventListener("abort", end);
  });
  return {
    signal: controller.signal,
    stop() {
      cancel();
      for (const forget of ends) forget();
    },
  };
}
