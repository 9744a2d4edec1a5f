/** How often a heart beats. Pure. Spec: http/sessions-routing.md §7.1. */
import { parseDuration } from "@svc/kit/time";

/** Choice: milliseconds of the shortest interval; a shorter one is this. */
const SHORTEST_MS = 1_000;

/** Milliseconds of `30m`, `1h30m` or a bare number of minutes; `null` for 0 and for what is no duration: it does not beat. */
export function everyMsOf(every: string): number | null {
  const ms = parseDuration(every, "m");
  return ms > 0 && Number.isSafeInteger(ms) ? Math.max(SHORTEST_MS, ms) : null;
}
