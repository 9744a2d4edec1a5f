/** How often writes may be asked for from inside the gateway, where no connection is counted. In memory only. */
import { type Clock, type RateLimit, unavailable } from "@svc/sdk";

/**
 * Takes one call of a budget; the window begins with the first.
 * Choice: one budget for all that runs inside: agents are many, and the gateway that restarts is one.
 * @returns `take`, which throws GatewayError `UNAVAILABLE` with the time to wait when nothing is left
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
