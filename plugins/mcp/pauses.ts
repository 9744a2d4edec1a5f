/** How long to wait before a server is connected again. Pure. */

const LEAST_MS = 1_000;
const LONGEST_MS = 300_000;

/**
 * Twice as long after each failure in a row, 1 second to 5 minutes, and up to a half less so that servers that went
 * together do not come back together.
 * @param failures in a row, from 1. @param random 0..1
 */
export function pauseMs(failures: number, random: number): number {
  const longest = Math.min(LONGEST_MS, LEAST_MS * 2 ** Math.min(failures, 20));
  return Math.round(longest * (0.5 + 0.5 * random));
}
