/** A version of a transform that is in service. */
import { withStrayErrors } from "@svc/sdk";
import type { TransformCall } from "@svc/sdk/webhooks";
import type { CallOutcome } from "./contract.ts";
import { invoke, type Timing } from "./invoke.ts";
import type { LoadedTransform } from "./pick.ts";
import { describeThrown } from "./problem.ts";

export interface Runner {
  /** @throws Error whose message says in one line what the transform did wrong, with the place in its file */
  run(call: TransformCall, timeoutMs: number): Promise<CallOutcome>;
  /** Takes no further calls; resolves when those under way are over. Safe to call twice. */
  retire(): Promise<void>;
  /** At once; calls under way fail. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Runs in this thread. One that never gives it back stops the gateway; see placement `worker`.
 * @param stray takes what the transform throws when nobody waits for it any more
 */
export function createHostRunner(
  loaded: LoadedTransform,
  directory: string,
  clock: Timing,
  stray: (error: unknown) => void,
): Runner {
  return {
    async run(call, timeoutMs) {
      // What a transform does to its payload is nobody else's business.
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
