/** Pause before a retry. Pure. */

export const LEAST_PAUSE_MS = 1_000;
export const LONGEST_PAUSE_MS = 300_000;

/**
 * Doubles after each consecutive failure, from 1 second to 5 minutes, with 20 % jitter so that retries do not coincide.
 * @param failures in a row, from 1. @param random 0..1
 */
export function pauseMs(failures: number, random: number): number {
  const base = Math.min(LONGEST_PAUSE_MS, LEAST_PAUSE_MS * 2 ** Math.min(failures - 1, 20));
  return Math.round(Math.min(LONGEST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, base * (0.8 + 0.4 * random))));
}
