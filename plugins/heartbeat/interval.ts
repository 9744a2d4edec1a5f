/** The interval of heartbeats. Pure. Spec: http/sessions-routing.md §7.1. */
import { parseDuration } from "@svc/kit/time";

/** Choice: shortest interval in milliseconds; shorter ones are raised to it. */
const SHORTEST_MS = 1_000;

/** Milliseconds of `30m`, `1h30m` or a bare number of minutes; `null` (no heartbeats) for 0 and for an invalid duration. */
export function everyMsOf(every: string): number | null {
  const ms = parseDuration(every, "m");
  return ms > 0 && Number.isSafeInteger(ms) ? Math.max(SHORTEST_MS, ms) : null;
}
