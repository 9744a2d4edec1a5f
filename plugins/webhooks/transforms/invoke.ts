/** One call of a transform, in the current thread. */
import { type Clock, matches, violations } from "@svc/sdk";
import { callTransform, type TransformCall } from "@svc/sdk/webhooks";
import type { CallOutcome } from "./contract.ts";
import type { LoadedTransform } from "./pick.ts";

export type Timing = Pick<Clock, "elapsed" | "setTimeout">;

/** Checks the payload and calls the transform. @throws as `callTransform` */
export async function invoke(
  { transform, payload: schema }: LoadedTransform,
  call: TransformCall,
  timeoutMs: number,
  clock: Timing,
): Promise<CallOutcome> {
  if (schema !== undefined && !matches(schema, call.payload))
    return { kind: "invalid-payload", violations: violations(schema, call.payload) };
  return { kind: "result", value: await callTransform(transform, call, timeoutMs, clock) };
}
