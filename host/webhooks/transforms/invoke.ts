/** One call of a transform, in whatever thread it lives. */
import { type Clock, matches, violations } from "@svc/sdk";
import type { TransformCall, TransformOutcome } from "./contract.ts";
import { jsonCopy } from "./json.ts";
import type { LoadedTransform } from "./pick.ts";
import { Complaint } from "./problem.ts";

export type Timing = Pick<Clock, "elapsed" | "setTimeout">;

/**
 * Checks the payload, calls, and checks the result. The signal aborts at the deadline.
 * @throws whatever the transform throws, or `Complaint` for a result that is none and for a missed deadline
 */
export async function invoke(
  loaded: LoadedTransform,
  call: TransformCall,
  timeoutMs: number,
  clock: Timing,
): Promise<TransformOutcome> {
  if (loaded.payload !== undefined && !matches(loaded.payload, call.payload))
    return { kind: "invalid-payload", violations: violations(loaded.payload, call.payload) };
  const value = await inTime(timeoutMs, clock, (signal) => {
    const { payload, headers, path } = call;
    return loaded.transform({ payload, headers, path, url: new URL(call.url), signal });
  });
  return { kind: "result", value: checkedResult(value) };
}

/** Choice: an answer that comes late counts as none, also when a long computation kept the deadline from being noticed. */
async function inTime<T>(ms: number, clock: Timing, work: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
  const began = clock.elapsed();
  const late = () => new Complaint(`no answer within ${ms} ms`);
  const controller = new AbortController();
  let cancel = () => {};
  const deadline = new Promise<never>((_, reject) => {
    cancel = clock.setTimeout(() => {
      const reason = late();
      reject(reason);
      controller.abort(reason);
    }, ms);
  });
  try {
    const answer = (async () => work(controller.signal))(); // a throw becomes a rejection
    const value = await Promise.race([answer, deadline]);
    if (clock.elapsed() - began > ms) throw late();
    return value;
  } finally {
    cancel();
  }
}

/**
 * @returns an object, `null`, or `undefined` for everything else that is falsy. Spec: http/webhooks.md §6.3
 * @throws Complaint for what is no JSON
 */
function checkedResult(value: unknown): unknown {
  if (value === null) return null;
  if (!value) return undefined;
  if (typeof value === "object" && !Array.isArray(value)) return jsonCopy(value);
  const kind = Array.isArray(value) ? "an array" : `a ${typeof value}`;
  throw new Complaint(`returned ${kind}; return an object, null to skip, or undefined for what the mapping says`);
}
