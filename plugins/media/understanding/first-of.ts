/** Tries the configured entries, one after the other. */
import { withDeadline } from "@svc/kit/time";
import { type Clock, type GatewayError, isGatewayError, messageOf, unavailable } from "@svc/sdk";
import type { Entry } from "./entries.ts";

interface Attempts {
  /** Beginning of the error message, e.g. `the picture was not described`. */
  readonly failed: string;
  /** Whether every entry would fail in this way. Default: none. */
  readonly isFinal?: (error: GatewayError) => boolean;
  readonly clock: Pick<Clock, "setTimeout">;
  readonly signal: AbortSignal;
}

/**
 * The result of the first entry that succeeds within its time.
 * @throws GatewayError `UNAVAILABLE` with the reason of each entry; final errors, and those that are no GatewayError; the
 *   reason of the signal
 */
export async function firstOf<T>(
  entries: readonly Entry[],
  { failed, isFinal = () => false, clock, signal }: Attempts,
  work: (entry: Entry, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const failures: string[] = [];
  for (const entry of entries) {
    const { name, timeoutMs: ms } = entry;
    const late = () => `it took longer than ${ms / 1_000} s (timeoutSeconds)`;
    try {
      return await withDeadline({ ms, clock, signals: [signal], late }, (inTime) => work(entry, inTime));
    } catch (error) {
      signal.throwIfAborted();
      if (!isGatewayError(error) || isFinal(error)) throw error;
      failures.push(`${name}: ${messageOf(error).replace("\nNext: ", "; next: ")}`);
    }
  }
  return unavailable(`${failed}: ${failures.join("; ")}`);
}
