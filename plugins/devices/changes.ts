/** Compare and set against the storage: read, decide, write, and once more when somebody was faster. */
import { isGatewayError, unavailable } from "@svc/sdk";

/** Choice: tries; each one lost means that somebody else's write went through. */
const MOST_TRIES = 8;

/** Runs `attempt` until it is through without a `CONFLICT`. @throws what it throws; `UNAVAILABLE` when it never is */
export async function untilUnchanged<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "CONFLICT") throw error;
      if (tries === MOST_TRIES)
        unavailable("this device is being changed by others at the same time; try again", { retryAfterMs: 1_000 });
    }
  }
}
