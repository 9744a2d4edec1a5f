/** Limits writes requested inside the gateway, where there is no connection to count. In memory only. */
import { type Clock, type RateLimit, unavailable } from "@svc/sdk";

/**
 * Counts the calls in a time window, which begins with the first call.
 * Choice: one budget for all callers inside the gateway: there are many agents, but only one gateway that restarts.
 * @returns `take`, which throws GatewayError `UNAVAILABLE` with the time to wait when the budget is used up
 */
export function createBudget({ calls, windowMs }: RateLimit, clock: Pick<Clock, "elapsed">): (what: string) => void {
  let endsAt = 0;
  let taken = 0;
  return (what) => {
    const now = clock.elapsed();
    if (taken === 0 || now >= endsAt) [endsAt, taken] = [now + windowMs, 0];
    if (taken >= calls) {
      const retryAfterMs = endsAt - now;
      unavailable(`rate limit exceeded for ${what}; retry after ${Math.max(1, Math.ceil(retryAfterMs / 1_000))}s`, {
        retryAfterMs,
        details: { method: what, limit: `${calls} per ${windowMs / 1_000}s` },
      });
    }
    taken += 1;
  };
}
