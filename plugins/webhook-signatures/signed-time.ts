/** The time a sender signed. */

/** Seconds since 1970, as all schemes write them: digits, no sign, no blanks, no leading zero. */
const UNIX_SECONDS = /^[1-9]\d{0,11}$/;

/** @returns Unix seconds, or `undefined` for anything but plain digits */
export function readTime(text: string): number | undefined {
  return UNIX_SECONDS.test(text) ? Number(text) : undefined;
}

/**
 * Why the time is too far off, in either direction; the edge itself is good.
 * @param signedAt Unix seconds; `undefined` where none is signed, which is never off @param now epoch ms
 */
export function timeProblem(signedAt: number | undefined, now: number, toleranceSeconds: number): string | undefined {
  if (signedAt === undefined) return undefined;
  const late = Math.floor(now / 1_000) - signedAt;
  // Written so that what is no number is refused.
  if (Math.abs(late) <= toleranceSeconds) return undefined;
  return `it was signed ${Math.abs(late)} s ${late < 0 ? "ahead of" : "before"} the clock here; ${toleranceSeconds} s are allowed: an old request, or a clock that is wrong`;
}
