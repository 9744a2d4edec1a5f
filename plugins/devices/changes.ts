/** Compare-and-set on the storage: read, decide, write, and retry after a concurrent change. */
import { isGatewayError, unavailable } from "@svc/sdk";

/** Choice: maximum attempts; each failed attempt means that a concurrent write succeeded. */
const MOST_TRIES = 8;

/** Runs `attempt` until it succeeds without a `CONFLICT`. @throws its other errors; `UNAVAILABLE` after the last attempt */
export async function untilUnchanged<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "CONFLICT") throw error;
      if (tries === MOST_TRIES)
        unavailable("other requests are changing this device at the same time; try again", { retryAfterMs: 1_000 });
    }
  }
}
