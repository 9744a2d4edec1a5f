/** Delays before reconnecting to a server. Pure. */

const LEAST_MS = 1_000;
const LONGEST_MS = 300_000;

/**
 * The delay doubles after each consecutive failure, up to 5 minutes, and is shortened at random by up to half, so that
 * servers that failed together do not reconnect together.
 * @param failures consecutive failures, from 1. @param random 0..1
 */
export function pauseMs(failures: number, random: number): number {
  const longest = Math.min(LONGEST_MS, LEAST_MS * 2 ** Math.min(failures, 20));
  return Math.round(longest * (0.5 + 0.5 * random));
}
