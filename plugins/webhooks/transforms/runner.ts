/** A live version of a transform. */
import { withStrayErrors } from "@svc/sdk";
import type { TransformCall } from "@svc/sdk/webhooks";
import type { CallOutcome } from "./contract.ts";
import { invoke, type Timing } from "./invoke.ts";
import type { LoadedTransform } from "./pick.ts";
import { describeThrown } from "./problem.ts";

export interface Runner {
  /** @throws Error whose message says in one line what the transform did wrong, with the position in its file */
  run(call: TransformCall, timeoutMs: number): Promise<CallOutcome>;
  /** Accepts no further calls; resolves when the current calls have ended. Safe to call twice. */
  retire(): Promise<void>;
  /** Stops at once; current calls fail. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Runs in this thread. A transform that never returns blocks the gateway; see placement `worker`.
 * @param stray receives errors that the transform throws outside of an awaited call
 */
export function createHostRunner(
  loaded: LoadedTransform,
  directory: string,
  clock: Timing,
  stray: (error: unknown) => void,
): Runner {
  return {
    async run(call, timeoutMs) {
      // A copy: changes that a transform makes to its payload affect no other transform.
      const own = { ...call, payload: structuredClone(call.payload), headers: { ...call.headers } };
      try {
        return await withStrayErrors(stray, () => invoke(loaded, own, timeoutMs, clock));
      } catch (cause) {
        throw new Error(describeThrown(cause, directory), { cause });
      }
    },
    retire: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}
