/** How long to wait before something is tried again. Pure. */

export const LEAST_PAUSE_MS = 1_000;
export const LONGEST_PAUSE_MS = 300_000;

/**
 * Twice as long after each failure in a row, 1 second to 5 minutes, a fifth more or less so that not everybody comes back at once.
 * @param failures in a row, from 1. @param random 0..1
 */
export function pauseMs(failures: number, random: number): number {
  const base = Math.min(LONGEST_PAUSE_MS, LEAST_PAUSE_MS * 2 ** Math.min(failures - 1, 20));
  return Math.round(Math.min(LONGEST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, base * (0.8 + 0.4 * random))));
}
